"""A small, fast HTTP/1.1 client for load: many connections, one request at a time on each."""

import asyncio
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

Json = Any  # what a JSON body decodes to


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the code, the headers with lower-case names, the body."""

    code: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Json:
        """The decoded body."""
        return json.loads(self.body)


class ConnectionLost(Exception):
    """The server went away, before or after it did what was asked: nobody knows."""


class Connection:
    """One keep-alive connection to `http://host:port`, or `https` with `tls`. After `ConnectionLost` the next request
    connects anew. `headers` go with every request."""

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = 60.0,
        headers: Mapping[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        address = urlsplit(url)
        self.host, self.port, self.timeout_s = address.hostname or "", address.port or 80, timeout_s
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        self._tls = tls
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(self, method: str, path: str, body: bytes = b"") -> Answer:
        """One request with a JSON body and its whole answer. Raises `ConnectionLost`, `TimeoutError`."""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nAccept: application/json\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{self._headers}\r\n"
        )
        try:
            async with asyncio.timeout(self.timeout_s):
                if self._writer is None:
                    self._reader, self._writer = await asyncio.open_connection(
                        self.host, self.port, limit=1 << 26, ssl=self._tls
                    )
                assert self._reader is not None
                self._writer.write(head.encode() + body)
                return await _read_answer(self._reader)
        except (OSError, asyncio.IncompleteReadError) as error:
            await self.close()
            raise ConnectionLost(str(error)) from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close it; closing twice is fine."""
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()
            try:
                await writer.wait_closed()
            except OSError:
                pass  # it was broken already

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _read_answer(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
    }
    if headers.get("transfer-encoding") == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Answer(int(head[0].split(" ", 2)[1]), headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return b"".join(parts)
