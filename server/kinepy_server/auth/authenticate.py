"""From credentials to a user (AUTH-1, AUTH-2)."""

import base64
import binascii
from collections.abc import Mapping, Sequence

from kinepy_server.auth.user import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User

ADMIN = User("admin", (MASTERS, AUTHENTICATED))
NOBODY = User(ANONYMOUS, (UNAUTHENTICATED,))
WEBSOCKET_TOKEN_PREFIX = "base64url.bearer.authorization.k8s.io."


class TokenAuthenticator:
    """Knows users by bearer token; who shows none is anonymous, who shows a wrong one is refused."""

    def __init__(self, users: Mapping[str, User]) -> None:
        # Found by hash, so that the time a lookup takes tells nothing of how much of a token was right. The
        # usual spelling of the whole header is looked up first: it is there on every request.
        self._users = dict(users)
        self._by_header = {f"Bearer {token}": user for token, user in users.items()}

    def __call__(self, headers: Mapping[str, str], client_certificate: object = None) -> User | None:
        """The user of a request with these (lower-case) headers; None when its token is wrong."""
        header = headers.get("authorization")
        if header is not None and (user := self._by_header.get(header)) is not None:
            return user
        token = bearer_token(header or "") or websocket_token(headers.get("sec-websocket-protocol", ""))
        return self._users.get(token) if token else NOBODY


class EveryoneIsAdmin:
    """Takes every request for one of the admin, whatever it shows: `--insecure`."""

    def __call__(self, headers: Mapping[str, str], client_certificate: object = None) -> User | None:
        """The admin."""
        return ADMIN


def authenticated(name: str, groups: Sequence[str] = (), *, uid: str = "") -> User:
    """A user with the group that all authenticated users are in."""
    return User(name, tuple(dict.fromkeys((*groups, AUTHENTICATED))), uid)


def bearer_token(header: str) -> str:
    """The token of an Authorization header; empty when it holds none or is of another scheme."""
    parts = header.strip().split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""


def websocket_token(protocols: str) -> str:
    """The token of a WebSocket subprotocol, as browsers send it that cannot set headers; else empty."""
    for protocol in protocols.split(","):
        name = protocol.strip()
        if name.startswith(WEBSOCKET_TOKEN_PREFIX):
            encoded = name.removeprefix(WEBSOCKET_TOKEN_PREFIX)
            try:
                return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
            except (binascii.Error, UnicodeDecodeError):
                return ""
    return ""
