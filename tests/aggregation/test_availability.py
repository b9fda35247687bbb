"""The condition `Available` says whether a backend is there, in the original's words."""

from typing import Any

import pytest

from kinepy_server.context import Context
from tests.aggregation.aggregating import (
    API_SERVICES_PATH,
    OWN,
    SERVICES,
    aggregate,
    available,
    condition,
    when,
)
from tests.aggregation.backend import FLUNDERS, NAME, ROOT, Backend, api_service, backend_tls, service
from tests.http.writing import MERGE, Api
from tests.processes import free_port

SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"


def ports(port: int, **more: Any) -> list[dict[str, Any]]:
    return [{"port": port, "name": "https", "targetPort": 1, **more}]


def endpoint_slice(port: int, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{NAME}-1", "labels": {"kubernetes.io/service-name": NAME}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["127.0.0.1"], **more}],
        "ports": [{"name": "https", "port": port}],
    }


async def test_what_keeps_it_from_being_reached_is_told_step_by_step(
    api: Api, context: Context, flunders: Backend
) -> None:
    named = f'service/{NAME} in "default"'
    await api.post(API_SERVICES_PATH, api_service(443))
    told = [await available(context, api, "ServiceNotFound")]
    await api.post(SERVICES, service(ports=ports(444)))
    told.append(await available(context, api, "ServicePortError"))
    await api.patch(f"{SERVICES}/{NAME}", {"spec": {"ports": ports(443)}}, content_type=MERGE)
    told.append(await available(context, api, "EndpointsNotFound"))
    await api.post(SLICES, endpoint_slice(flunders.port, conditions={"ready": False}))
    told.append(await available(context, api, "MissingEndpoints"))
    assert [one["message"] for one in told] == [
        f"{named} is not present",
        f"{named} is not listening on port 443",
        f"cannot find endpointslices for {named}",
        f'endpointslices for {named} have no addresses with port name "https"',
    ]
    assert {one["status"] for one in told} == {"False"}
    assert (await api.get(FLUNDERS)).content == b"service unavailable\n"
    await api.patch(f"{SLICES}/{NAME}-1", {"endpoints": [{"addresses": ["127.0.0.1"]}]}, content_type=MERGE)
    passed = await available(context, api, "Passed")
    assert (passed["status"], passed["message"]) == ("True", "all checks passed")
    await when(context, api, FLUNDERS, lambda reply: reply.code == 200)
    await api.delete(f"{SERVICES}/{NAME}")
    await available(context, api, "ServiceNotFound")


async def test_endpoints_made_by_hand_lead_there_too(api: Api, context: Context, flunders: Backend) -> None:
    await api.post(SERVICES, service(ports=ports(443)))
    subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"name": "https", "port": flunders.port}]}
    await api.post(ENDPOINTS, {"metadata": {"name": NAME}, "subsets": [subset]})
    await api.post(API_SERVICES_PATH, api_service(443))
    await available(context, api, "Passed")
    await when(context, api, FLUNDERS, lambda reply: reply.code == 200)


async def test_one_that_does_not_listen_is_found_when_it_does(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    await flunders.stop()
    await memory_api.post(SERVICES, service())
    await memory_api.post(API_SERVICES_PATH, api_service(flunders.port))
    failed = await available(memory, memory_api, "FailedDiscoveryCheck")
    url = f"https://127.0.0.1:{flunders.port}{ROOT}"
    dial = f"dial tcp 127.0.0.1:{flunders.port}: connect: connection refused"
    assert failed["message"] == f'failing or missing response from {url}: Get "{url}": {dial}'
    await flunders.start(backend_tls())
    await available(memory, memory_api, "Passed")


async def test_one_that_answers_badly_is_not_there(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    async def sick(asked: Any) -> None:
        await asked.answer(500, b"{}")

    flunders.answer = sick
    await memory_api.post(SERVICES, service())
    await memory_api.post(API_SERVICES_PATH, api_service(flunders.port))
    failed = await available(memory, memory_api, "FailedDiscoveryCheck")
    url = f"https://127.0.0.1:{flunders.port}{ROOT}"
    assert failed["message"] == f"failing or missing response from {url}: bad status from {url}: 500"
    flunders.answer = None
    await available(memory, memory_api, "Passed")


async def test_a_hanging_one_does_not_keep_others_waiting(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    async def hang(asked: Any) -> None:
        await asked.writer.wait_closed()

    flunders.answer = hang
    await memory_api.post(SERVICES, service())
    await memory_api.post(API_SERVICES_PATH, api_service(flunders.port))
    other = api_service(free_port(), version="v2")
    other["metadata"]["name"] = other["metadata"]["name"].replace("v1alpha1", "v2")
    await memory_api.post(API_SERVICES_PATH, other)
    await available(memory, memory_api, "FailedDiscoveryCheck", OWN.replace("v1alpha1", "v2"))
    assert condition((await memory_api.get(OWN)).body) is None
    late = await available(memory, memory_api, "FailedDiscoveryCheck")
    assert late["message"].endswith("(Client.Timeout exceeded while awaiting headers)")


async def test_one_that_becomes_local_is_available(api: Api, context: Context, flunders: Backend) -> None:
    await aggregate(context, api, flunders)
    spec = {"service": None, "caBundle": None}
    assert (await api.patch(OWN, {"spec": spec}, content_type=MERGE)).code == 200
    await available(context, api, "Local")
    assert (await api.get(FLUNDERS)).code == 404


@pytest.mark.parametrize("port", [443, None])
async def test_the_usual_port_is_443(memory_api: Api, port: int | None) -> None:
    made = api_service(443)
    made["spec"]["service"].pop("port")
    if port:
        made["spec"]["service"]["port"] = port
    reply = await memory_api.post(API_SERVICES_PATH, made)
    assert reply.body["spec"]["service"]["port"] == 443
