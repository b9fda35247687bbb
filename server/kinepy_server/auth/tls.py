"""What TLS is served with, by the files as they are when a client connects."""

import hashlib
import logging
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kinepy.clock import Clock
from kinepy_server.lasting import in_own_thread

CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2, those with forward secrecy and authenticated encryption, as all of TLS 1.3 are. Older versions are
refused."""
LOOK_EVERY_S: Final = 60.0
"""As often as the original looks at its files."""
_NO_PASSWORD: Final = "-"
"""A locked key is refused; without any password OpenSSL would ask at the terminal."""

_log = logging.getLogger("kinepy.server")


class BadTls(ValueError):
    """The files cannot be served with; the text is one line and says what to do."""


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

    def read(self) -> "Loaded":
        """The files as they are now. Raises OSError, and BadTls when they cannot be served with."""
        # First: what changes meanwhile is found the next time.
        digest = self.digest()
        client_ca = self.client_ca.read_text(errors="replace") if self.client_ca is not None else ""
        return Loaded(digest, self._context(), client_ca)

    def _context(self) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.set_ciphers(CIPHERS)
        try:
            made.load_cert_chain(self.certificate, self.key, password=_NO_PASSWORD)
        except ssl.SSLError as error:
            both, are = (
                (f"{self.certificate} and {self.key}", "are") if self.key else (self.certificate, "is")
            )
            raise BadTls(
                f"{both} {are} no certificate and its key ({error.reason or 'not readable'}): "
                "give PEM files that belong together, the key without a password"
            ) from error
        if self.client_ca is not None:
            try:
                made.load_verify_locations(self.client_ca)
            except ssl.SSLError as error:
                raise BadTls(
                    f"{self.client_ca} holds no certificate: give a CA in PEM with --client-ca"
                ) from error
        if self.client_ca is not None or self.asks_clients:
            made.verify_mode = ssl.CERT_OPTIONAL
        return made

    def digest(self) -> bytes:
        """Another one when a file has changed. Raises OSError."""
        files = (self.certificate, self.key, self.client_ca)
        held = [file.read_bytes() if file is not None else b"" for file in files]
        return b"".join(hashlib.sha256(each).digest() for each in held)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The files as they were at one time; the authorities of clients are PEM, and empty without."""

    digest: bytes
    context: ssl.SSLContext
    client_ca: str


class ServedTls:
    """TLS for new connections: of each of them by the files as they were a minute ago at most.

    `context` is the one to listen with. `attach` is told of it and of the authorities of clients (PEM), and of those
    that follow; it may raise ValueError, and the former ones stay. Raises OSError and BadTls.
    """

    def __init__(self, tls: Tls, *, attach: Callable[[ssl.SSLContext, str], None], clock: Clock) -> None:
        self._tls, self._attach, self._clock = tls, attach, clock
        first = tls.read()
        self._digest = first.digest
        self.context = self._current = first.context
        attach(first.context, first.client_ca)
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
        with _told("a certificate cannot be renewed"):
            await in_own_thread(self._tls.renew)
        with _told("TLS is served with the files as they were"):
            changed = await in_own_thread(self._changed)
            if changed is not None:
                self._attach(changed.context, changed.client_ca)
                self._digest, self._current = changed.digest, changed.context
                _log.info("TLS is served with the new content of %s", self._tls.certificate)

    def _changed(self) -> Loaded | None:
        return None if self._tls.digest() == self._digest else self._tls.read()


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        _log.warning("%s, until this is put right: %s", what, error)
    except Exception:
        # The server serves well without: it is not to end for that.
        _log.exception("%s", what)


@contextmanager
def odd_names_untold() -> Iterator[None]:
    """Python refuses a client that names a server in other bytes than ASCII, and would print a traceback each time."""
    usual = sys.unraisablehook

    def hook(found: "sys.UnraisableHookArgs") -> None:
        if not (isinstance(found.exc_value, UnicodeDecodeError) and isinstance(found.object, bytes)):
            usual(found)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = usual
