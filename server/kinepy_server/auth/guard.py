"""What stands before every request."""

import ssl
from dataclasses import dataclass
from typing import Protocol

from kinepy_server.seams import Authenticate, Authorize


class Authorities(Protocol):
    """Who knows clients by certificates, of authorities that may become others while the server runs."""

    def attach(self, context: ssl.SSLContext, client_ca: str) -> None:
        """New connections have this context's handshake from now on, by these authorities (PEM) of the TLS files.

        Raises ValueError, and goes on with the former ones then.
        """
        ...


@dataclass(frozen=True, slots=True)
class Guard:
    """Who asks, and whether they may. `authorities` is None where nobody is known by a certificate."""

    authenticate: Authenticate
    authorize: Authorize
    authorities: Authorities | None = None
