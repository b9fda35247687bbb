"""Writers for the fault tests: they keep what was acknowledged, refused and left unknown."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.load import Answer, Connection, ConnectionLost, Json
from tests.processes import configmap, configmaps


@dataclass
class Outcomes:
    """What the clients were told about creates of ConfigMaps, each with a name of its own."""

    acknowledged: dict[str, int] = field(default_factory=dict)
    """name -> resourceVersion of those answered with 201"""
    refused: set[str] = field(default_factory=set)
    """names answered with 503 or 429: surely not done"""
    unknown: set[str] = field(default_factory=set)
    """names answered with 504, or not answered"""
    wrong: list[str] = field(default_factory=list)
    """answers that no client may get"""

    def note(self, name: str, answer: Answer) -> None:
        """Sort one answer."""
        retry = answer.headers.get("retry-after")
        if answer.code == 201:
            self.acknowledged[name] = int(answer.json()["metadata"]["resourceVersion"])
        elif answer.code in (429, 503) and retry is not None:
            self.refused.add(name)
        elif answer.code == 504 and retry is None:
            self.unknown.add(name)
        else:
            self.wrong.append(f"{answer.code} Retry-After={retry} {answer.body[:300]!r}")


@dataclass
class Load:
    """Clients that create as fast as they are answered until `stop` is set or, if so told, the server is lost."""

    url: str
    prefix: str
    clients: int = 64
    survive: bool = False
    """go on when the connection is lost"""
    size: int = 200
    outcomes: Outcomes = field(default_factory=Outcomes)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    _noted: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> Outcomes:
        """All clients to their end."""
        async with asyncio.TaskGroup() as group:
            for number in range(self.clients):
                group.create_task(self._client(number))
        self._noted.set()
        return self.outcomes

    async def acknowledged(self, count: int) -> None:
        """Wait until this many creates are acknowledged."""
        await self.until(lambda: len(self.outcomes.acknowledged) >= count)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the outcomes fulfil a condition."""
        while not condition():
            assert not self.outcomes.wrong, self.outcomes.wrong
            self._noted.clear()
            await self._noted.wait()

    async def _client(self, number: int) -> None:
        path, count = configmaps(), 0
        async with Connection(self.url) as connection:
            while not self.stop.is_set():
                name = f"{self.prefix}-{number}-{count}"
                count += 1
                body = json.dumps(configmap(name, v="x" * self.size)).encode()
                try:
                    self.outcomes.note(name, await connection.send("POST", path, body))
                except ConnectionLost:
                    self.outcomes.unknown.add(name)
                    if not self.survive:
                        return
                finally:
                    self._noted.set()


async def listed(url: str, prefix: str) -> dict[str, int]:
    """name -> resourceVersion of the stored ConfigMaps whose name has the prefix."""
    async with Connection(url) as connection:
        answer = await connection.send("GET", configmaps())
    assert answer.code == 200, answer
    return {
        item["metadata"]["name"]: int(item["metadata"]["resourceVersion"])
        for item in answer.json()["items"]
        if item["metadata"]["name"].startswith(prefix)
    }


async def check_outcomes(outcomes: Outcomes, url: str, prefix: str) -> dict[str, int]:
    """The store holds what was acknowledged, at its revision, and nothing that was refused; returns what it holds."""
    assert not outcomes.wrong, outcomes.wrong[:5]
    stored = await listed(url, prefix)
    lost = {name for name, revision in outcomes.acknowledged.items() if stored.get(name) != revision}
    assert not lost, f"{len(lost)} acknowledged creates are lost: {sorted(lost)[:5]}"
    done = outcomes.refused & stored.keys()
    assert not done, f"{len(done)} refused creates were done: {sorted(done)[:5]}"
    strange = stored.keys() - outcomes.acknowledged.keys() - outcomes.unknown
    assert not strange, f"nobody asked for {sorted(strange)[:5]}"
    assert len(set(stored.values())) == len(stored)
    return stored


def event_of(line: str) -> tuple[str, str, int]:
    """(type, name, revision) of one watch line."""
    event: Json = json.loads(line)
    metadata = event["object"]["metadata"]
    return event["type"], metadata.get("name", ""), int(metadata.get("resourceVersion", 0))
