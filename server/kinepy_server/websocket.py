"""Watches over WebSocket (WATCH-11): one frame for each event, nothing expected from the client.

Events in JSON are text; those in protobuf are binary, without the length that is in front of them in HTTP.

A connection is shown to the application as the GET that it began as; what the application sends is turned
into frames. So a watch is the same watch, and a refusal the same refusal, answered before the upgrade.
"""

from collections.abc import Callable, Iterator
from typing import Any

from kinepy_server.answer import Message, Receive, Send
from kinepy_server.read.framing import LENGTH_BYTES

TOKEN_PREFIX = "base64url.bearer.authorization.k8s.io."
NORMAL_CLOSURE = 1000
OK = 200


class WebSocketAsHttp:
    """One WebSocket connection in the clothes of an HTTP request."""

    def __init__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        self.scope = {**scope, "type": "http", "method": "GET"}
        self._offered: list[str] = list(scope.get("subprotocols", ()))
        self._receive, self._send = receive, send
        self._open = False
        self._frames: Callable[[bytes], Iterator[dict[str, Any]]] = _texts

    async def receive(self) -> Message:
        """Wait for the end of the connection: what the client says on it means nothing."""
        while (message := await self._receive())["type"] != "websocket.disconnect":
            if message["type"] == "websocket.connect":
                return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Turn a part of an HTTP answer into what it is on a WebSocket."""
        if message["type"] == "http.response.start":
            await self._start(message)
        elif not self._open:
            await self._send(
                {**message, "type": "websocket.http.response.body", "body": bytes(message.get("body", b""))}
            )
        else:
            for frame in self._frames(message.get("body", b"")):
                await self._send({"type": "websocket.send", **frame})
            if not message.get("more_body"):
                await self._send({"type": "websocket.close", "code": NORMAL_CLOSURE})

    async def _start(self, message: Message) -> None:
        # An answer of known length is no stream: the request was refused, or is no watch. So may one be that is of no
        # known length and comes from another server.
        headers = dict(message["headers"])
        self._open = message["status"] == OK and b"content-length" not in headers
        self._frames = _binary if b"protobuf" in headers.get(b"content-type", b"") else _texts
        if self._open:
            await self._send({"type": "websocket.accept", "subprotocol": chosen_subprotocol(self._offered)})
        else:
            await self._send({**message, "type": "websocket.http.response.start"})


def _texts(body: bytes) -> Iterator[dict[str, Any]]:
    # Only this ends a line; and what another server sends need be no text.
    for line in body.split(b"\n"):
        if line:
            yield {"text": line.decode(errors="replace")}


def _binary(body: bytes) -> Iterator[dict[str, Any]]:
    at = 0
    while at < len(body):
        start = at + LENGTH_BYTES
        at = start + int.from_bytes(body[at:start], "big")
        yield {"bytes": body[start:at]}


def chosen_subprotocol(offered: list[str]) -> str | None:
    """The first offered subprotocol that is no token: a token is never echoed."""
    return next((name for name in offered if not name.startswith(TOKEN_PREFIX)), None)
