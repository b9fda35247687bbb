"""What a path and a method mean as a Kubernetes request (RequestInfo). Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote_to_bytes

from kinepy_server.errors import PlainError, bad_request

_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_NAMESPACE_SUBRESOURCES = frozenset(("status", "finalize"))
_METADATA_NAME = re.compile(r"(?:^|,)metadata\.name==?([^,=!]+)(?:,|$)")
_BAD_ESCAPE = re.compile(rb"%(?![0-9a-fA-F]{2})")
_NO_QUERY: Mapping[str, Sequence[str]] = {}
_QUERY_PARAMETERS_MAX = 1000


@dataclass(slots=True)
class RequestInfo:
    """The meaning of a request; see `Request` for the parts. `extra` says that the path goes on too long."""

    is_resource: bool = False
    verb: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    extra: bool = False


def decode_path(raw: bytes) -> str:
    """The decoded path; bytes that are no UTF-8 become replacement characters, which no name holds.

    Raises 400 for one that is not encoded as paths are.
    """
    if b"%" in raw:
        if _BAD_ESCAPE.search(raw):
            raise PlainError(400, "400 Bad Request")
        raw = unquote_to_bytes(raw)
    return raw.decode("utf-8", "replace")


def parse_query(raw: bytes) -> Mapping[str, Sequence[str]]:
    """Every value of every parameter, in order. Raises 400 for too many of them.

    Parameters that hold a semicolon or are not encoded as they should be count as not given.
    """
    if not raw:
        return _NO_QUERY
    if b";" in raw or (b"%" in raw and _BAD_ESCAPE.search(raw)):
        good = (part for part in raw.split(b"&") if b";" not in part and not _BAD_ESCAPE.search(part))
        raw = b"&".join(good)
    try:
        return parse_qs(
            raw.decode("latin-1"),
            keep_blank_values=True,
            max_num_fields=_QUERY_PARAMETERS_MAX,
            errors="replace",
        )
    except ValueError:
        raise bad_request(f"more than {_QUERY_PARAMETERS_MAX} query parameters") from None


def parse_request(method: str, path: str, query: Mapping[str, Sequence[str]]) -> RequestInfo:
    """The meaning of a request (HTTP-1, HTTP-2). Whether its resource is served is another question."""
    parts = path.strip("/").split("/")
    core = parts[0] == "api"
    if not (core or parts[0] == "apis") or len(parts) < (3 if core else 4):
        return RequestInfo(verb=method.lower())
    info = RequestInfo(is_resource=True, verb=_VERBS.get(method, ""))
    if core:
        info.version, rest = parts[1], parts[2:]
    else:
        info.group, info.version, rest = parts[1], parts[2], parts[3:]
    if rest[0] == "watch" and len(rest) > 1 and info.verb == "get":
        info.verb, rest = "watch", rest[1:]
    _read_location(info, rest)
    if not info.name:
        _read_collection_verb(info, query)
    return info


def _read_location(info: RequestInfo, rest: list[str]) -> None:
    info.extra = "" in rest
    if rest[0] == "namespaces" and len(rest) > 1:
        # As in the original, a request for a namespace itself counts as one inside it.
        info.namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    count = len(rest)
    info.resource = rest[0]
    if count > 1:
        info.name = rest[1]
    if count > 2:
        info.subresource = rest[2]
    info.extra = info.extra or count > 3


def _read_collection_verb(info: RequestInfo, query: Mapping[str, Sequence[str]]) -> None:
    if info.verb == "get":
        watch = query.get("watch")
        info.verb = "watch" if watch is not None and watch[0] not in ("false", "0") else "list"
    elif info.verb == "delete":
        info.verb = "deletecollection"


def selected_name(query: Mapping[str, Sequence[str]]) -> str:
    """The one name that a field selector of a list or watch asks for; empty when it does not (HTTP-2)."""
    values = query.get("fieldSelector")
    match = _METADATA_NAME.search(values[0]) if values else None
    return match.group(1) if match else ""


def check_url_name(name: str) -> None:
    """400 for a name in the URL that no object can have."""
    if name in (".", ".."):
        raise bad_request(f"Name parameter invalid: \"{name}\": may not be '{name}'")
    if "%" in name:
        raise bad_request(f"Name parameter invalid: \"{name}\": may not contain '%'")
