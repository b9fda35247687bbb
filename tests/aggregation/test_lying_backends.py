"""A backend that lies harms nothing but what it serves itself."""

import asyncio
from typing import Any

import orjson
import pytest

from kinepy_server.context import Context
from tests.aggregation.aggregating import (
    AGGREGATED,
    API_SERVICES_PATH,
    SERVICES,
    aggregate,
    available,
    when,
)
from tests.aggregation.backend import (
    DISCOVERED,
    FLUNDERS,
    GROUP,
    RESOURCES,
    ROOT,
    VERSION,
    Asked,
    Backend,
    api_service,
    service,
)
from tests.http.writing import Api

LONG = "a" * 64


def told(body: Any) -> Any:
    """What the aggregated document tells of the backend's group version."""
    groups = {group["metadata"].get("name"): group for group in body["items"]}
    return groups.get(GROUP, {"versions": [{}]})["versions"][0]


@pytest.mark.parametrize(
    "lie", [{}, {"name": ["/"]}, {"name": "x/status"}, {"name": "x", "verbs": 1, "group": {}, "kind": []}]
)
async def test_resources_that_are_none_are_asked_for_again(
    memory_api: Api, memory: Context, flunders: Backend, lie: Any
) -> None:
    flunders.aggregated = False
    lies = [True]

    async def answer(asked: Asked) -> None:
        if asked.path == ROOT and lies:
            await asked.answer(200, orjson.dumps({**RESOURCES, "resources": [lie]}))
        else:
            await flunders._flunders(asked)

    flunders.answer = answer
    await aggregate(memory, memory_api, flunders)
    await asyncio.sleep(0.5)
    lies.clear()
    async with asyncio.timeout(10):
        while True:
            reply = await memory_api.get("/apis", **AGGREGATED)
            print(told(reply.body))
            if told(reply.body).get("freshness") == "Current" and told(reply.body).get("resources"):
                if told(reply.body)["resources"][0]["resource"] == "flunders": break
            await asyncio.sleep(0.3)


@pytest.mark.parametrize("where", [{"type": "ExternalName", "externalName": f"{LONG}.example.com"}])
async def test_a_name_that_no_resolver_takes(memory_api: Api, memory: Context, where: Any) -> None:
    assert (await memory_api.post(SERVICES, service(**where))).code == 201
    assert (await memory_api.post(API_SERVICES_PATH, api_service(443))).code == 201
    found = await available(memory, memory_api, "FailedDiscoveryCheck")
    print(found)


async def test_a_service_of_a_long_name(memory_api: Api, memory: Context) -> None:
    reply = await memory_api.post(API_SERVICES_PATH, api_service(443, service={"namespace": "default", "name": "a" * 5000}))
    print(reply.code, reply.body)
    found = await available(memory, memory_api, "ServiceNotFound")


@pytest.mark.parametrize("length", ["0" * 5000 + "2", "2, 2", "+2"])
async def test_lengths(memory_api: Api, memory: Context, flunders: Backend, length: str) -> None:
    await aggregate(memory, memory_api, flunders)

    async def answer(asked: Asked) -> None:
        await asked.answer(200, b"{}", content_length=length)

    flunders.answer = answer
    reply = await memory_api.get(FLUNDERS)
    print(reply.code, reply.content[:200])
    assert reply.code in (200, 503)


async def test_trailers(memory_api: Api, memory: Context, flunders: Backend) -> None:
    await aggregate(memory, memory_api, flunders)
    sent = 0

    async def answer(asked: Asked) -> None:
        nonlocal sent
        await asked.begin()
        await asked.chunk(b"{}")
        asked.writer.write(b"0\r\nx: ")
        while sent < 20 * 2**20:
            asked.writer.write(b"a" * 65536)
            await asked.writer.drain()
            sent += 65536
        asked.writer.write(b"\r\n\r\n")

    flunders.answer = answer
    reply = await asyncio.wait_for(memory_api.get(FLUNDERS), 30)
    print(reply.code, len(reply.content), sent)
    assert sent < 2**23
