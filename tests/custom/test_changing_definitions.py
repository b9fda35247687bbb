"""Definitions that change, go and come back while many write and watch their objects: nothing is lost or doubled."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.backends import SHARED_BACKENDS, Backend, DatabaseMaker
from tests.custom.definitions import DEFINITIONS, WIDGETS, definition, spec_schema, version, widget
from tests.patience import soon, until
from tests.processes import ServerProcess

OWN = f"{DEFINITIONS}/widgets.example.com"
SCHEMA = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b"
SWAPS, STORMS, WRITERS = 12, 8, 16
REFUSED = frozenset((403, 404, 405, 409, 429))
"""What a writer is told while a definition goes, is away, or is not yet there; not at all a failure of the server."""


@pytest.fixture(params=SHARED_BACKENDS, ids=lambda backend: backend.name)
def server(
    request: pytest.FixtureRequest, databases: DatabaseMaker, tmp_path: Path
) -> Iterator[ServerProcess]:
    """A real server on each database that survives it; it leaves no traceback."""
    kind: Backend = request.param
    process = ServerProcess(tmp_path / "data", database=databases.fresh_url(kind), insecure=True)
    with process:
        yield process
    assert "Traceback" not in "\n".join(process.output)


@pytest.fixture
async def http(server: ServerProcess) -> AsyncIterator[httpx.AsyncClient]:
    """Its client."""
    async with server.async_client() as found:
        yield found


async def define(http: httpx.AsyncClient) -> None:
    """Create the definition as soon as there is none, and wait until objects are taken."""
    made = definition(version(schema=spec_schema(a={"type": "string"})))

    async def created() -> bool:
        answer = await http.post(DEFINITIONS, json=made)
        assert answer.status_code in (201, 409), answer.text
        return answer.status_code == 201

    await soon(created)
    await soon(lambda: served(http))


async def served(http: httpx.AsyncClient) -> bool:
    return (await http.get(WIDGETS)).status_code == 200


class Seen:
    """Follows all objects as a client does: lists, watches, and goes on where a watch has ended."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http, self.added = http, Counter[str]()

    async def run(self) -> None:
        since = (await self._http.get(WIDGETS)).json()["metadata"]["resourceVersion"]
        while True:
            query = {"watch": "true", "resourceVersion": since, "timeoutSeconds": "60"}
            async with self._http.stream("GET", WIDGETS, params=query, timeout=None) as answer:
                assert answer.status_code == 200, await answer.aread()
                async for line in answer.aiter_lines():
                    event = json.loads(line)
                    assert event["type"] != "ERROR", line
                    since = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] == "ADDED":
                        self.added[event["object"]["metadata"]["uid"]] += 1


class Writers:
    """Many that create objects and change them, until they are to stop; they know what they were promised."""

    def __init__(self, http: httpx.AsyncClient, *, also: frozenset[int] = frozenset()) -> None:
        self._http, self._allowed = http, also
        self.created: dict[str, str] = {}
        self.stop = asyncio.Event()

    async def run(self) -> None:
        await asyncio.gather(*(self._write(number) for number in range(WRITERS)))

    async def more(self, running: "asyncio.Task[None]") -> None:
        """Wait until they have created some more, or failed."""
        wanted = len(self.created) + WRITERS

        async def created() -> bool:
            return len(self.created) >= wanted or running.done()

        await soon(created)

    async def _write(self, number: int) -> None:
        count = 0
        while not self.stop.is_set():
            count += 1
            name = f"w{number}-{count}"
            made = await self._http.post(WIDGETS, json=widget(name, spec={"a": "1", "b": "1"}))
            if self._passed(made, 201):
                self.created[name] = made.json()["metadata"]["uid"]
                changed = await self._http.patch(
                    f"{WIDGETS}/{name}",
                    content=b'{"spec":{"a":"2"}}',
                    headers={"content-type": "application/merge-patch+json"},
                )
                assert not self._passed(changed, 200) or changed.json()["spec"]["a"] == "2"

    def _passed(self, answer: httpx.Response, code: int) -> bool:
        assert answer.status_code == code or answer.status_code in self._allowed, answer.text
        return answer.status_code == code


async def stored(http: httpx.AsyncClient) -> dict[str, tuple[str, str]]:
    """Of each object its uid and what its spec says."""
    items = (await http.get(WIDGETS)).json()["items"]
    return {one["metadata"]["name"]: (one["metadata"]["uid"], one["spec"]["a"]) for one in items}


async def test_nothing_is_lost_or_doubled_while_schemas_change(http: httpx.AsyncClient) -> None:
    await define(http)
    writers, seen = Writers(http), Seen(http)
    writing, following = asyncio.create_task(writers.run()), asyncio.create_task(seen.run())
    for number in range(SWAPS):
        operation = {"op": "remove", "path": SCHEMA} if number % 2 else {"op": "add", "path": SCHEMA}
        body = json.dumps([operation | ({} if number % 2 else {"value": {"type": "string"}})])
        headers = {"content-type": "application/json-patch+json"}
        assert (await http.patch(OWN, content=body, headers=headers)).status_code == 200
        await writers.more(writing)
    writers.stop.set()
    await writing
    assert await stored(http) == {name: (uid, "2") for name, uid in writers.created.items()}

    async def all_seen() -> bool:
        assert not following.done(), following.exception()
        return len(seen.added) >= len(writers.created)

    await soon(all_seen)
    following.cancel()
    assert seen.added == Counter(writers.created.values())


async def test_a_definition_that_comes_back_has_the_objects_of_its_own_time_only(
    http: httpx.AsyncClient,
) -> None:
    await define(http)
    writers = Writers(http, also=REFUSED)
    writing = asyncio.create_task(writers.run())
    for _ in range(STORMS):
        assert (await http.delete(OWN)).status_code == 200
        before = set(writers.created.values())
        await define(http)
        assert not before & {uid for uid, _ in (await stored(http)).values()}
    since = set(writers.created)
    await writers.more(writing)
    writers.stop.set()
    await writing
    found = await stored(http)
    told = {name: uid for name, uid in writers.created.items() if name not in since}
    assert told.items() <= {name: uid for name, (uid, _) in found.items()}.items()
    assert {uid for uid, _ in found.values()} <= set(writers.created.values())


def test_a_definition_is_established_and_cleared_by_whichever_process_comes_next(
    server: ServerProcess,
) -> None:
    with server.client() as client:
        assert client.send("POST", DEFINITIONS, definition()).status_code == 201
    server.kill()
    server.restart()
    with server.client() as client:
        until(lambda: client.get(WIDGETS).status_code == 200)
        for number in range(50):
            body = widget(f"w{number}", spec={"a": "1"})
            assert client.send("POST", WIDGETS, body).status_code == 201
        assert client.send("DELETE", OWN).status_code == 200
    server.kill()
    server.restart()
    with server.client() as client:
        until(lambda: client.get(OWN).status_code == 404)
        assert client.get(WIDGETS).status_code == 404
