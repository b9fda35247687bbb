"""What TLS is served with, by the files as they are when a client connects."""

import asyncio
import hashlib
import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from kinepy.clock import Clock

CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2, those with forward secrecy and authenticated encryption, as all of TLS 1.3 are. Older versions are
refused."""
LOOK_EVERY_S: Final = 60.0
"""As often as the original looks at its files."""
_NO_PASSWORD: Final = "-"
"""A locked key is refused; without any password OpenSSL would ask at the terminal."""

Found = TypeVar("Found")

_log = logging.getLogger("kinepy.server")


def _nothing() -> None:
    """Files that somebody else takes care of."""


@dataclass(frozen=True, slots=True)
class Tls:
    """The files to serve TLS with.

    `key` is None when the certificate's file holds it too. Clients may show certificates of `client_ca`; one of
    another authority is refused by the handshake. Without it none is asked for, unless `asks_clients`: then those
    whose certificates are taken are told later. `renew` makes files anew that are about to run out; it may block, and
    raises OSError or ValueError when it cannot.
    """

    certificate: Path
    key: Path | None = None
    client_ca: Path | None = None
    asks_clients: bool = False
    renew: Callable[[], object] = field(default=_nothing, compare=False)

    def context(self) -> ssl.SSLContext:
        """The files as they are now. Raises OSError (SSLError too) when they cannot be served with."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.set_ciphers(CIPHERS)
        made.load_cert_chain(self.certificate, self.key, password=_NO_PASSWORD)
        if self.client_ca is not None:
            made.load_verify_locations(self.client_ca)
        if self.client_ca is not None or self.asks_clients:
            made.verify_mode = ssl.CERT_OPTIONAL
        return made

    def digest(self) -> bytes:
        """Another one when a file has changed. Raises OSError."""
        files = (self.certificate, self.key, self.client_ca)
        held = [file.read_bytes() if file is not None else b"" for file in files]
        return b"".join(hashlib.sha256(each).digest() for each in held)


class ServedTls:
    """TLS for new connections: of each of them by the files as they were a minute ago at most.

    `context` is the one to listen with. `attach` is told of it, and of those that follow it.
    """

    def __init__(self, tls: Tls, *, attach: Callable[[ssl.SSLContext], None], clock: Clock) -> None:
        self._tls, self._attach, self._clock = tls, attach, clock
        self._digest = tls.digest()
        self.context = self._current = tls.context()
        attach(self.context)
        # OpenSSL asks in each handshake, also when the client names no server.
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _listening: ssl.SSLContext) -> None:
        connection.context = self._current

    async def follow(self) -> None:
        """Look again and again; runs until cancelled."""
        while True:
            await self._clock.sleep(LOOK_EVERY_S)
            await self.look()

    async def look(self) -> None:
        """Renew what runs out, and serve with what has changed. What cannot be served with is told and left alone."""
        await self._told("a certificate cannot be renewed", self._tls.renew)
        changed = await self._told("TLS is served with the files as they were", self._changed)
        if changed is None:
            return
        digest, context = changed
        self._attach(context)
        self._digest, self._current = digest, context
        _log.info("TLS is served with the new content of %s", self._tls.certificate)

    async def _told(self, what: str, call: Callable[[], Found]) -> Found | None:
        try:
            return await asyncio.to_thread(call)
        except (OSError, ValueError) as error:
            _log.warning("%s, until this is put right: %s", what, error)
        except Exception:
            # The server serves well without: it is not to end for that.
            _log.exception("%s", what)
        return None

    def _changed(self) -> tuple[bytes, ssl.SSLContext] | None:
        digest = self._tls.digest()
        return None if digest == self._digest else (digest, self._tls.context())
