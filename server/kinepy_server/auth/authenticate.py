"""From credentials to a user (AUTH-1, AUTH-2): a client certificate, else a bearer token, else nobody."""

import base64
from collections.abc import Awaitable, Mapping

from kinepy_server.auth.accounts import AccountTokens, InvalidToken
from kinepy_server.auth.certificates import CertificateUsers
from kinepy_server.auth.tokens import TokenUsers
from kinepy_server.auth.user import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User
from kinepy_server.seams import CLIENT_CERTIFICATE, Scope

ADMIN = User("admin", (MASTERS, AUTHENTICATED))
NOBODY = User(ANONYMOUS, (UNAUTHENTICATED,))
_NOTHING: Scope = {}
WEBSOCKET_TOKEN_PREFIX = "base64url.bearer.authorization.k8s.io."


class Authenticator:
    """Knows users by certificate and by token; who shows neither is anonymous, who shows a wrong one is refused."""

    def __init__(
        self,
        users: Mapping[str, User],
        *,
        accounts: AccountTokens | None = None,
        certificates: CertificateUsers | None = None,
        anonymous: User | None = NOBODY,
    ) -> None:
        """`users` are found by token; `anonymous` is None where anonymous requests are refused."""
        self._users = TokenUsers(users)
        self._accounts, self._certificates, self._anonymous = accounts, certificates, anonymous

    def __call__(
        self, headers: Mapping[str, str], scope: Scope = _NOTHING
    ) -> "User | Awaitable[User | None] | None":
        """The user of a request with these (lower-case) headers; None when its credentials are wrong.

        Only the token of a service account needs more than memory: then the answer is to be awaited.
        """
        shown = scope.get(CLIENT_CERTIFICATE)
        if shown is not None and self._certificates is not None:
            good, user = self._certificates.user(shown)
            if not good or user is not None:
                return user if good else None
        token = bearer_token(headers.get("authorization", ""))
        token = token or websocket_token(headers.get("sec-websocket-protocol", ""))
        if not token:
            return self._anonymous
        user = self._users.user(token)
        return user if user is not None else self._account(token)

    def _account(self, token: str) -> "Awaitable[User | None] | None":
        # Two dots are what tokens of service accounts have, and few others.
        if self._accounts is None or token.count(".") != 2:
            return None
        return self._account_user(self._accounts, token)

    async def _account_user(self, accounts: AccountTokens, token: str) -> User | None:
        try:
            found = await accounts.user(token)
        except InvalidToken:
            return None
        return found[0] if found is not None else None

    def token_user(self, token: str) -> User | None:
        """The user of one of the tokens that are kept, not of a service account's."""
        return self._users.user(token)


class EveryoneIsAdmin:
    """Takes every request for one of the admin, whatever it shows: `--insecure`."""

    def __call__(self, headers: Mapping[str, str], scope: Scope = _NOTHING) -> User:
        """The admin."""
        return ADMIN

    def token_user(self, token: str) -> User | None:
        """The admin."""
        return ADMIN


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
            except ValueError:
                return ""
    return ""
