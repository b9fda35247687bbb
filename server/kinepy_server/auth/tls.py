"""What TLS is served with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2, those with forward secrecy and authenticated encryption, as all of TLS 1.3 are. Older versions are
refused."""


@dataclass(frozen=True, slots=True)
class Tls:
    """The files to serve TLS with.

    `key` is None when the certificate's file holds it too. Clients may show certificates of `client_ca`; one of
    another authority is refused by the handshake. Without it none is asked for, unless `asks_clients`: then those
    whose certificates are taken are told later.
    """

    certificate: Path
    key: Path | None = None
    client_ca: Path | None = None
    asks_clients: bool = False
