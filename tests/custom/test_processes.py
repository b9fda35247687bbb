"""Several processes on one database serve the same; watches end with what they watch."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.read import handle_watch
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.response import StreamResponse
from tests.custom.conftest import PAGES
from tests.custom.definitions import GROUP, ROOT, WIDGETS, Crds, widget
from tests.http.reading import reading
from tests.http.writing import Api, api_over

WATCH_S = 20.0


@asynccontextmanager
async def process(path: Path) -> AsyncIterator[Api]:
    """An application with a store of its own on a database file."""
    async with (
        open_store(f"sqlite:///{path}") as store,
        api_over(Context(store, builtin_registry()), pages=PAGES) as api,
    ):
        yield api


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[tuple[Api, Api]]:
    """Two processes on one database."""
    async with process(tmp_path / "db") as first, process(tmp_path / "db") as second:
        yield first, second


async def test_what_one_defines_the_other_serves_at_once(two: tuple[Api, Api]) -> None:
    first, second = two
    await Crds(first).define()
    assert (await second.get(WIDGETS)).code == 200


async def test_what_one_defines_the_other_discovers_at_once(two: tuple[Api, Api]) -> None:
    first, second = two
    await Crds(first).define()
    assert (await second.get(ROOT)).body["resources"][0]["name"] == "widgets"


async def test_objects_of_one_are_seen_by_the_other(two: tuple[Api, Api]) -> None:
    first, second = two
    await Crds(first).define()
    assert (await first.post(WIDGETS, widget(spec={"a": "x"}))).code == 201
    assert (await second.get(f"{WIDGETS}/w")).body["spec"] == {"a": "x"}


async def test_definitions_are_served_again_after_a_restart(tmp_path: Path) -> None:
    async with process(tmp_path / "db") as api:
        await Crds(api).define()
        await api.post(WIDGETS, widget(spec={"a": "x"}))
    async with process(tmp_path / "db") as api:
        assert (await api.get(f"{WIDGETS}/w")).body["spec"] == {"a": "x"}


async def _watched(api: Api) -> StreamResponse:
    context = api.app.context
    resource = context.registry.lookup(GROUP, "v1", "widgets")
    assert resource is not None
    asked = reading(resource, "watch", namespace="default", query={"timeoutSeconds": "300"})
    return await handle_watch(context, asked, resource)


async def _read(stream: StreamResponse) -> bytes:
    async with asyncio.timeout(WATCH_S):
        return b"".join([chunk async for chunk in stream.chunks])


async def test_a_watch_ends_when_the_schema_changes(api: Api, crds: Crds) -> None:
    await crds.define()
    told = asyncio.create_task(_read(await _watched(api)))
    await crds.set_schema("/properties/spec/properties/b", {"type": "string"})
    assert await told == b""


async def test_a_watch_tells_the_last_deletes_and_ends_when_the_definition_goes(api: Api, crds: Crds) -> None:
    await crds.define()
    await api.post(WIDGETS, widget())
    told = asyncio.create_task(_read(await _watched(api)))
    await crds.delete()
    assert b'"type":"DELETED"' in (await told).splitlines()[-1]
