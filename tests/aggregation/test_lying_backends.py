"""Services and backends that make no sense are told as such, and keep nothing else from being served."""

import pytest

from kinepy_server.context import Context
from tests.aggregation.aggregating import API_SERVICES_PATH, SERVICES, aggregate, available
from tests.aggregation.backend import FLUNDERS, Asked, Backend, api_service, service
from tests.http.writing import Api

OTHER = f"{API_SERVICES_PATH}/v1.other.example.com"


async def test_a_host_name_with_a_label_too_long_for_dns_is_not_found(
    memory_api: Api, memory: Context
) -> None:
    named = {"type": "ExternalName", "externalName": f"{'a' * 64}.example.com"}
    assert (await memory_api.post(SERVICES, service(**named))).code == 201
    assert (await memory_api.post(API_SERVICES_PATH, api_service(443))).code == 201
    found = await available(memory, memory_api, "FailedDiscoveryCheck")
    assert "failing or missing response from https://aaaa" in found["message"]


async def test_a_service_too_long_to_be_stored_is_not_present(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    spec = {
        "group": "other.example.com",
        "version": "v1",
        "service": {"namespace": "default", "name": "a" * 5000},
    }
    other = api_service(443, **spec) | {"metadata": {"name": "v1.other.example.com"}}
    assert (await memory_api.post(API_SERVICES_PATH, other)).code == 201
    found = await available(memory, memory_api, "ServiceNotFound", OTHER)
    assert found["message"].endswith('in "default" is not present')
    await aggregate(memory, memory_api, flunders)
    assert (await memory_api.get(FLUNDERS)).code == 200


@pytest.mark.parametrize("length", ["0" * 5000 + "2", "+2", "2, 2"], ids=["zeros", "sign", "twice"])
async def test_a_length_that_is_odd_is_no_failure_of_this_server(
    memory_api: Api, memory: Context, flunders: Backend, length: str
) -> None:
    await aggregate(memory, memory_api, flunders)

    async def answer(asked: Asked) -> None:
        await asked.answer(200, b"{}", content_length=length)

    flunders.answer = answer
    reply = await memory_api.get(FLUNDERS)
    accepted = length.isdecimal()
    assert (reply.code, accepted) in ((200, True), (503, False)), (reply.code, reply.content)
