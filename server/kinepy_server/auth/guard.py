"""What stands before every request."""

import ssl
from dataclasses import dataclass
from typing import Protocol

from kinepy_server.seams import Authenticate, Authorize


class Authorities(Protocol):
    """Authorities of client certificates that may become others while the server runs."""

    def attach(self, context: ssl.SSLContext) -> None:
        """Let their certificates through the handshake from now on."""
        ...


@dataclass(frozen=True, slots=True)
class Guard:
    """Who asks, and whether they may. `authorities` is None where those of the TLS files are all."""

    authenticate: Authenticate
    authorize: Authorize
    authorities: Authorities | None = None
