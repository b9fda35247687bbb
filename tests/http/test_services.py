"""Services have addresses and ports that no other Service has."""

import asyncio
from typing import Any

from kinepy.clock import Clock
from kinepy_server.writes.claims import YOUNG_US
from tests.http.writing import CORE, Api

SERVICES, ADDRESSES = f"{CORE}/services", "/apis/networking.k8s.io/v1/ipaddresses"


def service(name: str = "s", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


async def spec_of(api: Api, body: dict[str, Any]) -> Any:
    reply = await api.post(SERVICES, body)
    assert reply.code == 201, reply.content
    return reply.body["spec"]


async def test_a_service_gets_an_address_of_the_range_and_an_object_for_it(api: Api) -> None:
    spec = await spec_of(api, service())
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert spec["clusterIP"].startswith("10.96.")
    owner = (await api.get(f"{ADDRESSES}/{spec['clusterIP']}")).body["spec"]["parentRef"]
    assert owner == {"group": "", "resource": "services", "namespace": "default", "name": "s"}


async def test_services_made_at_once_have_different_addresses_and_ports(api: Api) -> None:
    bodies = [service(f"s{n}", type="NodePort") for n in range(40)]
    specs = await asyncio.gather(*(spec_of(api, body) for body in bodies))
    assert len({spec["clusterIP"] for spec in specs}) == 40
    assert len({spec["ports"][0]["nodePort"] for spec in specs}) == 40


async def test_an_address_that_was_asked_for_is_given_once(memory_api: Api) -> None:
    assert (await spec_of(memory_api, service(clusterIP="10.96.0.77")))["clusterIP"] == "10.96.0.77"
    second = await memory_api.post(SERVICES, service("t", clusterIP="10.96.0.77"))
    text = 'spec.clusterIPs: Invalid value: ["10.96.0.77"]: failed to allocate IP 10.96.0.77: provided IP is already allocated'  # noqa: E501
    assert (second.code, second.message) == (422, f'Service "t" is invalid: {text}')


async def test_a_node_port_outside_the_range_is_refused(memory_api: Api) -> None:
    reply = await memory_api.post(SERVICES, service(type="NodePort", ports=[{"port": 80, "nodePort": 80}]))
    text = "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range."
    assert reply.code == 422
    assert text in reply.message


async def test_an_address_is_free_again_when_its_service_is_deleted(memory_api: Api) -> None:
    await spec_of(memory_api, service(clusterIP="10.96.0.77"))
    await memory_api.delete(f"{SERVICES}/s")
    assert (await spec_of(memory_api, service("t", clusterIP="10.96.0.77")))["clusterIP"] == "10.96.0.77"


async def test_a_dry_run_takes_nothing(memory_api: Api) -> None:
    reply = await memory_api.post(f"{SERVICES}?dryRun=All", service(clusterIP="10.96.0.77"))
    assert reply.body["spec"]["clusterIP"] == "10.96.0.77"
    assert (await memory_api.get(f"{ADDRESSES}/10.96.0.77")).code == 404


async def test_an_address_stays_and_may_be_left_out_of_an_update(memory_api: Api) -> None:
    before = await spec_of(memory_api, service())
    after = await memory_api.put(f"{SERVICES}/s", service(selector={"a": "b"}))
    assert after.body["spec"]["clusterIP"] == before["clusterIP"]
    moved = await memory_api.put(f"{SERVICES}/s", service(clusterIP="10.96.0.99"))
    assert moved.code == 422
    assert 'spec.clusterIPs[0]: Invalid value: ["10.96.0.99"]: may not change once set' in moved.message


async def test_a_service_changes_its_type_and_back(memory_api: Api) -> None:
    before = await spec_of(memory_api, service())
    path = f"{SERVICES}/s"
    exposed = (await memory_api.patch(path, {"spec": {"type": "NodePort"}})).body["spec"]
    assert exposed["ports"][0]["nodePort"] >= 30000
    again = (await memory_api.patch(path, {"spec": {"type": "ClusterIP"}})).body["spec"]
    assert ("nodePort" in again["ports"][0], again["clusterIP"]) == (False, before["clusterIP"])


async def test_what_another_type_has_no_use_for_goes(memory_api: Api) -> None:
    await spec_of(memory_api, service(type="LoadBalancer"))
    path = f"{SERVICES}/s"
    plain = (await memory_api.patch(path, {"spec": {"type": "ClusterIP"}})).body["spec"]
    assert not plain.keys() & {"externalTrafficPolicy", "allocateLoadBalancerNodePorts"}
    outside = await memory_api.patch(path, {"spec": {"type": "ExternalName", "externalName": "a.b"}})
    assert not outside.body["spec"].keys() & {
        "clusterIP",
        "clusterIPs",
        "ipFamilies",
        "internalTrafficPolicy",
    }


async def test_endpoints_are_deprecated(memory_api: Api) -> None:
    reply = await memory_api.get(f"{CORE}/endpoints")
    text = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    assert reply.header("warning") == [f'299 - "{text}"']


async def test_a_claim_that_its_service_never_came_to_is_taken_over_later(memory_api: Api) -> None:
    lost = {
        "metadata": {"name": "10.96.0.77"},
        "spec": {"parentRef": {"resource": "services", "name": "gone"}},
    }
    await memory_api.post(ADDRESSES, lost)
    asked = service(clusterIP="10.96.0.77")
    assert (await memory_api.post(SERVICES, asked)).code == 422
    context = memory_api.app.context
    context.clock = Later(context.clock)
    assert (await spec_of(memory_api, asked))["clusterIP"] == "10.96.0.77"


class Later:
    """A clock that is ahead."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now_us(self) -> int:
        """Two minutes from now."""
        return self._clock.now_us() + 2 * YOUNG_US

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)
