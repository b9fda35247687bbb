"""A proxy before PostgreSQL: a network that cuts connections, also around COMMIT, that is slow or goes silent."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from random import Random
from typing import Self
from urllib.parse import urlsplit, urlunsplit

COMMIT = b"COMMIT\x00"
"""How the message ends; "READ COMMITTED" stands in others."""


class Cut(Enum):
    """Where the next COMMIT's connection is cut."""

    BEFORE = "the database never sees the COMMIT"
    AFTER = "the database has done the COMMIT, its answer is lost"


class Proxy:
    """Forwards to the database of a URL. `url` is the way through it."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._target = urlsplit(target)
        self.delay_s = 0.0
        """how much later everything arrives, in both directions"""
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.cut: Cut | None = None
        """what happens to the next COMMIT; None again once it has happened"""
        self.refuse_after_cut = False
        self.refusing = False
        """new connections are closed at once"""
        self.was_cut = asyncio.Event()
        self.answer_bytes: int | None = None
        """after so many bytes of answers their connection is cut, once"""
        self.answers_cut = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut_all()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        """The database's URL through the proxy."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        user, at, _ = self._target.netloc.rpartition("@")
        return urlunsplit(self._target._replace(netloc=f"{user}{at}127.0.0.1:{port}"))

    def cut_all(self) -> None:
        """Cut every connection now."""
        for writer in list(self._open):
            writer.transport.abort()

    def retarget(self, target: str) -> None:
        """Lead to another server from now on, as an address that moves."""
        self.target, self._target = target, urlsplit(target)
        self.cut_all()

    def silence(self) -> None:
        """Let nothing through any more; nobody is told."""
        self._flowing.clear()

    def resume(self) -> None:
        """Let through what was held back and what comes."""
        self._flowing.set()

    async def _on_the_way(self) -> None:
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        await self._flowing.wait()

    # --- troubles

    def cut_strike(self) -> Callable[[Random], Awaitable[None]]:
        """Every connection is cut, and new ones are refused for a moment."""

        async def strike(chance: Random) -> None:
            self.refusing = True
            self.cut_all()
            await asyncio.sleep(chance.uniform(0, 0.3))
            self.refusing = False

        return strike

    def commit_strike(self, cuts: Sequence[Cut]) -> Callable[[Random], Awaitable[None]]:
        """The connection of the next COMMIT is cut before or after it."""

        async def strike(chance: Random) -> None:
            self.was_cut.clear()
            self.cut = chance.choice(cuts)
            await self.was_cut.wait()

        return strike

    def silence_strike(self, *, longest_s: float) -> Callable[[Random], Awaitable[None]]:
        """Nothing arrives for a while; then the connections are cut, or go on."""

        async def strike(chance: Random) -> None:
            self.silence()
            await asyncio.sleep(chance.uniform(0.1, longest_s))
            if chance.random() < 0.5:
                self.cut_all()
            self.resume()

        return strike

    def delay_strike(self, *, longest_s: float) -> Callable[[Random], Awaitable[None]]:
        """Everything arrives later for a while."""

        async def strike(chance: Random) -> None:
            self.delay_s = chance.uniform(0.01, longest_s)
            await asyncio.sleep(1.0)
            self.delay_s = 0.0

        return strike

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open.add(writer)
        try:
            if not self.refusing:
                await self._forward(reader, writer)
        finally:
            self._tasks.discard(task)
            self._open.discard(writer)
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, ahead = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._open.add(ahead)
        cutting = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._to_database(reader, ahead, cutting))
                group.create_task(self._to_client(behind, writer, cutting))
        except* OSError:
            pass  # one side is gone: so is the other
        finally:
            self._open.discard(ahead)
            ahead.transport.abort()

    async def _to_database(
        self, reader: asyncio.StreamReader, ahead: asyncio.StreamWriter, cutting: asyncio.Event
    ) -> None:
        while data := await reader.read(65536):
            if self.cut is not None and COMMIT in data:
                if self.cut is Cut.BEFORE:
                    self._happened()
                    raise ConnectionAbortedError
                cutting.set()
            await self._on_the_way()
            ahead.write(data)
            await ahead.drain()
        raise ConnectionAbortedError

    async def _to_client(
        self, behind: asyncio.StreamReader, writer: asyncio.StreamWriter, cutting: asyncio.Event
    ) -> None:
        while data := await behind.read(65536):
            if cutting.is_set():
                # The database has answered: whatever the COMMIT did, it is done.
                self._happened()
                raise ConnectionAbortedError
            await self._on_the_way()
            whole = self._take_answer(len(data))
            writer.write(data[:whole])
            await writer.drain()
            if whole < len(data):
                raise ConnectionAbortedError
        raise ConnectionAbortedError

    def _take_answer(self, size: int) -> int:
        """How much of so many bytes of an answer is let through."""
        room = self.answer_bytes
        if room is None:
            return size
        if room >= size:
            self.answer_bytes = room - size
            return size
        self.answer_bytes = None
        self.answers_cut += 1
        return room

    def _happened(self) -> None:
        self.cut = None
        self.refusing = self.refuse_after_cut
        self.was_cut.set()
