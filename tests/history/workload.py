"""Clients that create, update, delete, read and list a few keys as fast as they are answered, all of it recorded."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.history.check import WRITES
from tests.history.faces import Face
from tests.history.records import Call, History, Kind, Outcome, Watched
from tests.history.watching import FENCE

CHOICES = {Kind.GET: 30, Kind.CREATE: 20, Kind.UPDATE: 35, Kind.DELETE: 12, Kind.LIST: 3}
_PAUSE_S = 0.02
"""after a failure: a server that is away is not asked in a circle"""

Follow = Callable[[Watched], Coroutine[Any, Any, None]]


@dataclass
class Workload:
    """One run. The clients share a few keys, so that most of them fight for the same ones."""

    seed: int
    keys: int = 6
    history: History = field(default_factory=History)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    done: int = 0
    """acknowledged writes"""
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(
        self, faces: Sequence[Face], follows: Sequence[Follow], trouble: Coroutine[Any, Any, None]
    ) -> History:
        """Clients and watchers beside some trouble; ends when the trouble has ended and all watchers saw the fence."""
        after = await self._start(faces[0])
        async with asyncio.TaskGroup() as group:
            for number, follow in enumerate(follows):
                watched = Watched(f"watcher {number}", after)
                self.history.watchers.append(watched)
                group.create_task(follow(watched))
            async with asyncio.TaskGroup() as clients:
                for number, face in enumerate(faces):
                    clients.create_task(self._client(number, face))
                await trouble
                self.stop.set()
            await self._fence(faces[0])
        for face in faces:
            await face.close()
        return self.history

    async def progress(self, count: int) -> None:
        """Wait until so many more writes are acknowledged."""
        goal = self.done + count
        while self.done < goal:
            self._moved.clear()
            await self._moved.wait()

    async def _start(self, face: Face) -> int:
        call = Call(Kind.LIST, "", 0)
        await face.do(call)
        assert call.outcome is Outcome.DONE, call
        return call.revision

    async def do(self, face: Face, call: Call) -> Call:
        """One recorded call."""
        self.history.calls.append(call)
        call.called = time.monotonic()
        await face.do(call)
        if call.outcome is not Outcome.UNKNOWN:
            call.returned = time.monotonic()
        if call.outcome is Outcome.DONE and call.kind in WRITES:
            self.done += 1
            self._moved.set()
        return call

    async def _client(self, number: int, face: Face) -> None:
        chance, known, count = Random(self.seed * 1000 + number), dict[str, int](), 0
        kinds, weights = list(CHOICES), list(CHOICES.values())
        while not self.stop.is_set():
            kind, key = chance.choices(kinds, weights)[0], f"k{chance.randrange(self.keys)}"
            if kind in (Kind.UPDATE, Kind.DELETE) and key not in known:
                kind = Kind.GET
            count += 1
            call = Call(kind, key, 0)
            if kind in (Kind.CREATE, Kind.UPDATE):
                call.value = f"{number}.{count}"
            if kind in (Kind.UPDATE, Kind.DELETE):
                call.expect = known[key]
            await self.do(face, call)
            _learn(known, call, forget=chance.random() < 0.7)
            if call.outcome in (Outcome.UNKNOWN, Outcome.UNDONE):
                await asyncio.sleep(_PAUSE_S)

    async def _fence(self, face: Face) -> None:
        while True:
            call = await self.do(face, Call(Kind.CREATE, FENCE, 0, value=f"fence.{len(self.history.calls)}"))
            if call.outcome in (Outcome.DONE, Outcome.EXISTS):
                return
            await asyncio.sleep(_PAUSE_S)


def _learn(known: dict[str, int], call: Call, *, forget: bool) -> None:
    """What a client knows of a key after a call; on purpose it keeps some that are old."""
    if call.outcome is Outcome.DONE and call.kind in (Kind.CREATE, Kind.UPDATE, Kind.GET):
        known[call.key] = call.revision
    elif call.kind is not Kind.LIST and forget:
        known.pop(call.key, None)


def summary(history: History) -> str:
    """One line of figures."""
    counts: dict[str, int] = {}
    for call in history.calls:
        if call.kind in WRITES:
            counts[call.outcome.name] = counts.get(call.outcome.name, 0) + 1
    resumes = sum(watched.resumes for watched in history.watchers)
    return f"{len(history.calls)} calls, writes {counts}, {len(history.watchers)} watchers, {resumes} resumptions"
