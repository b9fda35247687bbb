"""Watches over WebSocket (WATCH-11): one text frame for each event, nothing expected from the client.

A connection is shown to the application as the GET that it began as; what the application sends is turned
into frames. So a watch is the same watch, and a refusal the same refusal, answered before the upgrade.
"""

from typing import Any

from kinepy_server.answer import Message, Receive, Send

TOKEN_PREFIX = "base64url.bearer.authorization.k8s.io."
NORMAL_CLOSURE = 1000


class WebSocketAsHttp:
    """One WebSocket connection in the clothes of an HTTP request."""

    def __init__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        self.scope = {**scope, "type": "http", "method": "GET"}
        self._offered: list[str] = list(scope.get("subprotocols", ()))
        self._receive, self._send = receive, send
        self._open = False

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
            await self._send({**message, "type": "websocket.http.response.body"})
        else:
            for line in message.get("body", b"").splitlines():
                await self._send({"type": "websocket.send", "text": line.decode()})
            if not message.get("more_body"):
                await self._send({"type": "websocket.close", "code": NORMAL_CLOSURE})

    async def _start(self, message: Message) -> None:
        # An answer of known length is no stream: the request was refused, or is no watch.
        self._open = not any(name == b"content-length" for name, _ in message["headers"])
        if self._open:
            await self._send({"type": "websocket.accept", "subprotocol": chosen_subprotocol(self._offered)})
        else:
            await self._send({**message, "type": "websocket.http.response.start"})


def chosen_subprotocol(offered: list[str]) -> str | None:
    """The first offered subprotocol that is no token: a token is never echoed."""
    return next((name for name in offered if not name.startswith(TOKEN_PREFIX)), None)
