"""A server that dies while a webhook converts loses nothing that was promised, and stores nothing half."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.admission.hooks import HookServer, hook_server
from tests.backends import SHARED_BACKENDS, Backend, DatabaseMaker
from tests.custom.conversion_hooks import V2, WIDGETS2, converted_by, reviewing, two_versions
from tests.custom.definitions import DEFINITIONS, WIDGETS, definition, widget
from tests.patience import soon
from tests.processes import ServerProcess

SHOWN = {"left": "a", "right": "b"}
COUNT = 20


@pytest.fixture(params=SHARED_BACKENDS, ids=lambda backend: backend.name)
def server(
    request: pytest.FixtureRequest, databases: DatabaseMaker, tmp_path: Path
) -> Iterator[ServerProcess]:
    """A real server on each database that survives it."""
    kind: Backend = request.param
    with ServerProcess(tmp_path / "data", database=databases.fresh_url(kind), insecure=True) as process:
        yield process
    assert "Traceback" not in "\n".join(process.output)


def shown(name: str) -> dict[str, object]:
    return widget(name, api_version=V2, spec=SHOWN)


async def killed_while_asking(server: ServerProcess, hooks: HookServer) -> None:
    """Writes that need the webhook are under way, which says nothing, when the server is killed."""
    hooks.requests.clear()
    hooks.answer = lambda request: None
    async with server.async_client() as http:
        under_way = [asyncio.create_task(http.post(WIDGETS2, json=shown(f"late{n}"))) for n in range(COUNT)]
        await soon(lambda: asked(hooks))
        await asyncio.to_thread(server.kill)
        ends = await asyncio.gather(*under_way, return_exceptions=True)
    assert all(isinstance(end, httpx.TransportError) for end in ends), ends
    hooks.answer = reviewing()
    await asyncio.to_thread(server.restart)


async def asked(hooks: HookServer) -> bool:
    return len(hooks.requests) >= COUNT


async def test_what_was_stored_is_shown_in_both_versions_after_a_kill(server: ServerProcess) -> None:
    async with hook_server(reviewing()) as hooks:
        async with server.async_client() as http:
            made = definition(*two_versions(), conversion=converted_by(hooks.url))
            assert (await http.post(DEFINITIONS, json=made)).status_code == 201

            async def served() -> bool:
                return (await http.get(WIDGETS2)).status_code == 200

            await soon(served)
            for number in range(COUNT):
                assert (await http.post(WIDGETS2, json=shown(f"w{number:02}"))).status_code == 201
        await killed_while_asking(server, hooks)
        async with server.async_client() as http:
            for path, spec in ((WIDGETS, {"pair": "a:b"}), (WIDGETS2, SHOWN)):
                items = (await http.get(path)).json()["items"]
                assert [one["metadata"]["name"] for one in items] == [f"w{n:02}" for n in range(COUNT)]
                assert all(one["spec"] == spec for one in items)
            assert (await http.post(WIDGETS2, json=shown("late0"))).status_code == 201
