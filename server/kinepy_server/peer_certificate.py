"""The certificate that a client has shown in the TLS handshake, for the application."""

import asyncio
import ssl
from typing import Any, Final, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from kinepy_server.seams import CLIENT_CERTIFICATE

CLOSE_ANSWER_S: Final = 2.0
"""How long a client may take to answer the end of its watch; then the connection is closed anyway."""


def peer_certificate(transport: asyncio.BaseTransport) -> tuple[bytes, ...] | None:
    """The certificate of a connection's client (DER) and those by which the handshake has verified it, in order; None
    without one. A session that was resumed knows the client's own only."""
    tls = transport.get_extra_info("ssl_object")
    own = tls.getpeercert(binary_form=True) if tls is not None else None
    if own is None:
        return None
    if hasattr(tls, "get_verified_chain"):
        return tuple(tls.get_verified_chain()) or (own,)
    # Before Python 3.13 only the object within tells it.
    chain = tls._sslobj.get_verified_chain() or ()
    return tuple(ssl.PEM_cert_to_DER_cert(one.public_bytes()) for one in chain) or (own,)


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol; the application is told the client's certificate, and may refuse the upgrade."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.close_timeout = CLOSE_ANSWER_S

    def handle_connect(self, event: Any) -> None:
        """The connection's scope is made here, and read by the application later."""
        super().handle_connect(event)
        certificate = peer_certificate(self.transport)
        if certificate is not None and self.response.status_code == 101:
            # The key is ours, not one of ASGI.
            cast(dict[str, Any], self.scope)[CLIENT_CERTIFICATE] = certificate

    async def send(self, message: Any) -> None:
        """An answer instead of the upgrade ends the handshake too: uvicorn would log that it never ended."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True
