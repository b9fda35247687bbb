"""The Service by which programs in a cluster find the server: there from the first start, made once."""

import asyncio

import pytest

from kinepy_server.context import Context
from kinepy_server.controllers.bootstrap import make_bootstrap_objects
from kinepy_server.controllers.bootstrap_service import service_objects
from kinepy_server.served import Served
from tests.http.writing import Api, api_over

DEFAULT = "/api/v1/namespaces/default"


async def test_the_service_is_there_without_controllers(context: Context) -> None:
    context.served = Served("10.1.2.3:7443")
    async with api_over(context) as api:
        service = (await api.get(f"{DEFAULT}/services/kubernetes")).body
        assert service["spec"]["clusterIP"] == "10.96.0.1"
        assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
        assert service["spec"]["ports"] == [
            {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 7443}
        ]
        assert await leads_to(api) == ["10.1.2.3"]


async def leads_to(api: Api) -> list[str]:
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
    endpoints = (await api.get(f"{DEFAULT}/endpoints/kubernetes")).body
    addresses = [one["ip"] for subset in endpoints["subsets"] for one in subset["addresses"]]
    slice_ = (await api.get(path)).body
    assert addresses == [ip for one in slice_["endpoints"] for ip in one["addresses"]]
    return addresses


@pytest.mark.parametrize("address", ["", "127.0.0.1:6443", "0.0.0.0:6443", "::1:6443", ":::6443"])
def test_an_address_that_leads_nowhere_is_no_endpoint(address: str) -> None:
    objects = dict(service_objects(["", address]))
    assert list(objects) == [("", "v1", "services")]
    assert objects["", "v1", "services"]["spec"]["ports"][0]["targetPort"] == 6443


def test_an_advertised_address_comes_first() -> None:
    objects = dict(service_objects(["[fd00::1]:2", "10.0.0.1:1"]))
    assert objects["discovery.k8s.io", "v1", "endpointslices"]["addressType"] == "IPv6"
    assert objects["", "v1", "endpoints"]["subsets"][0]["addresses"] == [{"ip": "fd00::1"}]


async def test_servers_that_start_at_once_make_it_once(two_contexts: tuple[Context, Context]) -> None:
    await asyncio.gather(*(make_bootstrap_objects(context) for context in two_contexts * 3))
    kv = await two_contexts[0].store.get(b"/registry/services/specs/default/kubernetes")
    assert kv is not None
    assert kv.version == 1
