"""From credentials to a user, as the host knows users: its front proxy's word, a certificate, a token, or nobody.

As in the original any of the ways may succeed; where none does, a wrong credential is refused, and only who shows
none at all is anonymous.
"""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from kinepy.clock import Clock
from kinepy_server.auth.authenticate import NOBODY, bearer_token, websocket_token
from kinepy_server.auth.chains import BadTrust, Chain
from kinepy_server.auth.delegated.tokens import ReviewedTokens
from kinepy_server.auth.delegated.trust import Judged, RequestHeader, Trust
from kinepy_server.auth.tokens import TokenUsers
from kinepy_server.auth.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User
from kinepy_server.seams import CLIENT_CERTIFICATE, Scope

JUDGED_MAX: Final = 1000
NAMED_MAX: Final = 10_000
NAMED_BYTES_MAX: Final = 4096
"""Users of whom more is said are read anew each time."""
JUDGED_AGAIN_US: Final = 10_000_000

RawHeaders = Sequence[tuple[bytes, bytes]]


@dataclass(slots=True)
class _Seen:
    chain: Chain
    judged: Judged
    at_us: int
    trusted: tuple[object, ...]


class DelegatedAuthenticator:
    """Knows users by what the host says; its own, such as the admin, by their tokens."""

    def __init__(self, trust: Trust, tokens: ReviewedTokens, own: TokenUsers, *, clock: Clock) -> None:
        self._trust, self._tokens, self._own, self._clock = trust, tokens, own, clock
        self._seen: dict[tuple[bytes, ...], _Seen] = {}
        self._named = NamedUsers(trust.request_header)

    def __call__(self, headers: Mapping[str, str], scope: Scope) -> "User | Awaitable[User | None] | None":
        """The user of a request; None when its credentials are wrong. To be awaited where the host is asked."""
        shown = scope.get(CLIENT_CERTIFICATE)
        judged = self._judge(shown) if shown is not None else None
        if judged is not None:
            if judged.front_proxy:
                said = self._trust.request_header
                if self._named.said is not said:
                    self._named = NamedUsers(said)
                user = self._named.user(scope["headers"])
                if user is not None:
                    return user
            if judged.user is not None:
                return judged.user
        token = bearer_token(headers.get("authorization", ""))
        token = token or websocket_token(headers.get("sec-websocket-protocol", ""))
        if token:
            own = self._own.user(token)
            return own if own is not None else self._tokens.user(token)
        return None if judged is not None and judged.refused else NOBODY

    def token_user(self, token: str) -> User | None:
        """The user of one of the server's own tokens."""
        return self._own.user(token)

    def _judge(self, ders: tuple[bytes, ...]) -> Judged:
        now_us, trust = self._clock.now_us(), self._trust
        trusted = (trust.request_header, trust.proxies, trust.clients)
        seen = self._seen.get(ders)
        if seen is not None and seen.trusted == trusted and now_us - seen.at_us < JUDGED_AGAIN_US:
            return seen.judged
        if len(self._seen) >= JUDGED_MAX:
            self._seen.clear()
        try:
            chain = seen.chain if seen is not None else Chain(ders)
        except BadTrust:
            return Judged(front_proxy=False, user=None, refused=True)
        judged = trust.judge(chain, now_us=now_us)
        self._seen[ders] = _Seen(chain, judged, now_us, trusted)
        return judged


class NamedUsers:
    """The users that front proxies have named lately: nearly every request names one of them."""

    def __init__(self, said: RequestHeader) -> None:
        self.said = said
        self._names = frozenset(
            map(_wanted, (*said.username_headers, *said.uid_headers, *said.group_headers))
        )
        self._prefixes = tuple(map(_wanted, said.extra_prefixes))
        self._known: dict[tuple[tuple[bytes, bytes], ...], User | None] = {}

    def user(self, headers: RawHeaders) -> User | None:
        """The user of a request; None when none is named."""
        names, prefixes = self._names, self._prefixes
        telling = tuple([one for one in headers if one[0] in names or one[0].startswith(prefixes)])
        try:
            return self._known[telling]
        except KeyError:
            user = proxied_user(self.said, telling)
            if sum(len(name) + len(value) for name, value in telling) <= NAMED_BYTES_MAX:
                if len(self._known) >= NAMED_MAX:
                    self._known.clear()
                self._known[telling] = user
            return user


def proxied_user(said: RequestHeader, headers: RawHeaders) -> User | None:
    """The user that a trusted front proxy names; None when it names none.

    The raw headers are looked at: a group with a comma in its name must not become two groups.
    """
    name = _first(headers, said.username_headers)
    if not name:
        return None
    groups = [value for header in said.group_headers for value in _values(headers, header) if value]
    if name != ANONYMOUS and AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups.append(AUTHENTICATED)
    extra = _extra(headers, said.extra_prefixes)
    return User(name, tuple(groups), _first(headers, said.uid_headers), extra)


def _wanted(name: str) -> bytes:
    """The name of a header as requests have it."""
    return name.strip().lower().encode("latin-1", "replace")


def _values(headers: RawHeaders, name: str) -> list[str]:
    wanted = _wanted(name)
    return [_text(value) for header, value in headers if header == wanted]


def _text(value: bytes) -> str:
    # Names need not be ASCII: what is sent are the bytes of UTF-8.
    return value.decode("utf-8", "replace")


def _first(headers: RawHeaders, names: Sequence[str]) -> str:
    for name in names:
        values = _values(headers, name)
        if values and values[0]:
            return values[0]
    return ""


def _extra(headers: RawHeaders, prefixes: Sequence[str]) -> Mapping[str, Sequence[str]]:
    found: dict[str, Any] = {}
    for prefix in prefixes:
        wanted = _wanted(prefix)
        for header, value in headers:
            if header.startswith(wanted):
                found.setdefault(_unescaped(header[len(wanted) :]), []).append(_text(value))
    return {key: tuple(values) for key, values in found.items()}


def _unescaped(key: bytes) -> str:
    """The key of a header's name; one that is badly escaped stays as it is."""
    parts = key.split(b"%")[1:]
    if all(len(part) >= 2 and set(part[:2]) <= _HEX for part in parts):
        key = unquote_to_bytes(key)
    return _text(key)


_HEX = frozenset(b"0123456789abcdefABCDEF")
