"""Answers that leave in one piece."""

import asyncio

JOINED_BYTES_MAX = 64 * 1024
"""A larger body is not copied to be joined with its head."""


class OnePiece:
    """A transport for one answer: its head waits for the first part of its body.

    uvicorn writes them apart, which costs the server a system call and the client a second wake-up.
    """

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = b""

    def write(self, data: bytes | memoryview) -> None:
        """Write, but keep the head, which is bytes."""
        head = self._head
        if head is None:
            self._transport.write(data)
        elif head:
            self._head = None
            if len(data) <= JOINED_BYTES_MAX:
                self._transport.write(head + data)
            else:
                self._transport.writelines((head, data))
        elif isinstance(data, bytes) and not data.startswith(b"HTTP/1.1 100 "):
            self._head = data
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Close after what was written."""
        if self._head:
            self._transport.write(self._head)
        self._transport.close()

    def is_closing(self) -> bool:
        """As of the transport."""
        return self._transport.is_closing()
