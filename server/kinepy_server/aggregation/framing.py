"""Cutting a backend's stream where its messages end: each becomes a frame of a WebSocket. Pure."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

from kinepy_server.read.framing import LENGTH_BYTES
from kinepy_server.response import Cut

MESSAGE_BYTES_MAX = 64 * 1024 * 1024


async def whole_messages(parts: AsyncIterator[bytes], *, lines: bool) -> AsyncIterator[bytes]:
    """The stream in parts that end where messages do: lines, or what a length stands in front of.

    Raises Cut when a message is too long to be kept, or never ends.
    """
    rest = bytearray()
    end_of = _lines_end if lines else _frames_end
    async with aclosing(cast(Any, parts)):
        async for part in parts:
            known = len(rest)
            rest += part
            end = end_of(rest, known)
            if end:
                yield bytes(rest[:end])
                del rest[:end]
            if len(rest) > MESSAGE_BYTES_MAX:
                raise Cut("a message of the backend is too long")
    if rest:
        raise Cut("unexpected EOF")


def _lines_end(data: bytearray, known: int) -> int:
    """Where the last whole line ends; up to `known` no line does. A long one comes in thousands of parts."""
    return data.rfind(b"\n", known) + 1


def _frames_end(data: bytearray, _known: int) -> int:
    """Where the last whole message ends. At most one message is looked at again."""
    end = 0
    while len(data) >= end + LENGTH_BYTES:
        after = end + LENGTH_BYTES + int.from_bytes(data[end : end + LENGTH_BYTES], "big")
        if after > len(data):
            break
        end = after
    return end
