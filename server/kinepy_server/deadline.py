"""How long a request may take (HTTP-11)."""

import re

from kinepy_server.errors import bad_request
from kinepy_server.request import Request
from kinepy_server.server_settings import ServerSettings

_WRITES = frozenset(("create", "update", "patch", "delete", "deletecollection"))
_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)")


def request_deadline_s(request: Request, settings: ServerSettings) -> float:
    """The time that a request other than a watch gets: what it asks for, within the server's limit."""
    limit = settings.write_timeout_s if request.verb in _WRITES else settings.request_timeout_s
    text = request.parameter("timeout")
    if not text:
        return limit
    try:
        asked = parse_duration(text)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None
    return min(asked, limit) if asked > 0 else limit


def parse_duration(text: str) -> float:
    """Seconds of a duration such as `1m30s` or `-1.5h`; raises ValueError with the original's text."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0.0
    if not rest:
        raise ValueError(f'time: invalid duration "{text}"')
    total = 0.0
    while rest:
        match = _NUMBER.match(rest)
        if match is None:
            raise ValueError(f'time: invalid duration "{text}"')
        number, unit = match.groups()
        if not unit:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if unit not in _UNITS_S:
            raise ValueError(f'time: unknown unit "{unit}" in duration "{text}"')
        total += float(number) * _UNITS_S[unit]
        rest = rest[match.end() :]
    return -total if text.startswith("-") else total
