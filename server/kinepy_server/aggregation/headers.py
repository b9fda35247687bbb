"""What a request carries on its way to a backend, and an answer on its way back. Pure.

As in the original the backend trusts the certificate of the front proxy and takes the user from headers.
Whatever a client itself has sent under these names is dropped, with its credentials.
"""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, urlencode

from kinepy_server.auth.user import User
from kinepy_server.request import Request

HeaderList = list[tuple[bytes, bytes]]

_HOP = frozenset(
    (
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    )
)  # fmt: skip
_CREDENTIALS = ("authorization", "x-remote-user", "x-remote-uid", "x-remote-group")
_CREDENTIAL_PREFIXES = ("x-remote-extra-", "impersonate-")
_ANSWERED = frozenset(("expect",))
"""What this server has done already when it asks the backend."""
_TOLD_HERE = frozenset(("audit-id", "date"))
"""What this server says itself of every answer."""
_OURS = frozenset(
    (*_CREDENTIALS, "content-length", "x-forwarded-uri", "x-forwarded-host", "x-forwarded-proto")
)
_WEBSOCKET = "sec-websocket-"
_CORS = frozenset(f"access-control-allow-{name}" for name in ("credentials", "headers", "methods", "origin"))
_PATH_SAFE = "/$&+,:;=@~"
_TOKEN = frozenset(
    b"!#$&'*+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`abcdefghijklmnopqrstuvwxyz|~"
)  # without the percent sign, which begins an escape


def target(request: Request) -> bytes:
    """Path and query for the backend, in the original's spelling: the query in the order of its names."""
    path = quote(request.path, safe=_PATH_SAFE)
    query = urlencode(sorted((name, values) for name, values in request.query.items()), doseq=True)
    return f"{path}?{query}".encode() if query else path.encode()


def forwarded(request: Request, *, host: str, client: str, websocket: bool) -> HeaderList:
    """The headers of a request for the backend at `host`; `client` is the address of who sent it.

    A WebSocket ends here: the backend is asked in plain HTTP.
    """
    named = {name.strip().lower() for name in request.headers.get("connection", "").split(",")}
    kept: HeaderList = []
    via = client
    for name, value in request.headers.items():
        if (
            name in _HOP
            or name in _ANSWERED
            or name in _OURS
            or name in named
            or name.startswith(_CREDENTIAL_PREFIXES)
        ):
            continue
        if websocket and (name.startswith(_WEBSOCKET) or name == "accept-encoding"):
            continue
        if name == "x-forwarded-for":
            via = f"{value}, {client}" if client else value
        else:
            kept.append((name.encode("latin-1"), value.encode("latin-1")))
    if "host" not in request.headers:
        kept.append((b"host", host.encode()))
    if "audit-id" not in request.headers:
        kept.append((b"audit-id", request.audit_id.encode("latin-1")))
    if via:
        kept.append((b"x-forwarded-for", via.encode("latin-1")))
    kept += (
        (b"x-forwarded-uri", quote(request.path, safe=_PATH_SAFE).encode()),
        (b"x-forwarded-host", host.encode()),
        (b"x-forwarded-proto", b"https"),
    )
    return [*kept, *identity(request.user)]


def identity(user: User) -> Iterator[tuple[bytes, bytes]]:
    """The headers that tell a backend who asks."""
    yield b"X-Remote-User", user.name.encode()
    if user.uid:
        yield b"X-Remote-Uid", user.uid.encode()
    for group in user.groups:
        yield b"X-Remote-Group", group.encode()
    for key, values in user.extra.items():
        name = b"X-Remote-Extra-" + _escaped(key)
        for value in values:
            yield name, value.encode()


def _escaped(key: str) -> bytes:
    """A key as a part of a header's name."""
    return b"".join(bytes((byte,)) if byte in _TOKEN else b"%%%02X" % byte for byte in key.encode())


def returned(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers of a backend's answer for the client; repeated ones are joined."""
    found: dict[str, str] = {}
    for name, value in headers:
        name = name.lower()
        if name not in _HOP and name not in _CORS and name not in _TOLD_HERE:
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def is_redirect(status: int, headers: Mapping[str, str]) -> bool:
    """Whether the backend sends the client elsewhere."""
    return 300 <= status < 400 and "location" in headers
