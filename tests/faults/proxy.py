"""A proxy before PostgreSQL that cuts connections around COMMIT."""

import asyncio
from contextlib import suppress
from enum import Enum
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
        self._target = urlsplit(target)
        self.cut: Cut | None = None
        """what happens to the next COMMIT; None again once it has happened"""
        self.refuse_after_cut = False
        self.refusing = False
        """new connections are closed at once"""
        self.was_cut = asyncio.Event()
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
            with suppress(OSError):
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._to_database(reader, ahead, cutting))
                    group.create_task(self._to_client(behind, writer, cutting))
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
            writer.write(data)
            await writer.drain()
        raise ConnectionAbortedError

    def _happened(self) -> None:
        self.cut = None
        self.refusing = self.refuse_after_cut
        self.was_cut.set()
