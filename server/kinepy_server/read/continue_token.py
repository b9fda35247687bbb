"""Continue tokens (RV-16..18): where a list goes on, and in which snapshot.

A token is unpadded base64url of `{"v":"meta.k8s.io/v1","rv":N,"start":KEY}`. KEY is relative to the
list's own prefix and usually ends in NUL, so that the list goes on after the last key that was told.
Clients take it as opaque, but tools decode it: the form is the original's.
"""

import base64
import json
from dataclasses import dataclass
from typing import Any

import orjson

from kinepy_server.errors import StatusError, bad_request

VERSION = "meta.k8s.io/v1"
LATEST = -1
_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ContinueToken:
    """`revision` None means: at the newest revision, and so inconsistent with the pages before."""

    revision: int | None
    start: bytes


def encode_token(token: ContinueToken) -> str:
    """The token as the client gets it."""
    revision = LATEST if token.revision is None else token.revision
    body = orjson.dumps({"v": VERSION, "rv": revision, "start": token.start.decode(errors="replace")})
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()


def decode_token(text: str) -> ContinueToken:
    """The token's meaning. Raises the 400 of one that is damaged or points out of its list."""
    body = _members(_unwrapped(text))
    version, revision, start = body.get("v", ""), body.get("rv", 0), body.get("start", "")
    if version != VERSION:
        raise _refused(f"server does not recognize this encoded version {version}")
    if revision == 0:
        raise _refused(f"incorrect encoded start resourceVersion (version {VERSION})")
    if not start:
        raise _refused(f"encoded start key empty (version {VERSION})")
    key = start.removeprefix("/")
    if key and any(part in ("", ".", "..") for part in key.split("/")):
        raise _refused(start)
    return ContinueToken(revision if revision > 0 else None, key.encode(errors="replace"))


def _refused(why: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def _unwrapped(text: str) -> bytes:
    plain = text.replace("\r", "").replace("\n", "")
    for position, character in enumerate(text):
        if character not in _ALPHABET and character not in "\r\n":
            raise _refused(f"illegal base64 data at input byte {len(text[:position].encode())}")
    if len(plain) % 4 == 1:
        raise _refused(f"illegal base64 data at input byte {len(text) - 1}")
    return base64.urlsafe_b64decode(plain + "=" * (-len(plain) % 4))


def _members(body: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _refused(_syntax_problem(body.decode(errors="replace"))) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _refused(
            f"json: cannot unmarshal {_go_kind(value)} into Go value of type storage.continueToken"
        )
    members = {name: member for name, member in value.items() if member is not None}
    for name, go_type in (("v", "string"), ("rv", "int64"), ("start", "string")):
        member = members.get(name)
        if member is not None and not _fits(member, go_type):
            shown = (
                f"number {member}"
                if go_type == "int64" and _go_kind(member) == "number"
                else _go_kind(member)
            )
            field = f"Go struct field continueToken.{name} of type {go_type}"
            raise _refused(f"json: cannot unmarshal {shown} into {field}")
    return members


def _fits(member: Any, go_type: str) -> bool:
    if go_type == "string":
        return isinstance(member, str)
    return isinstance(member, int) and not isinstance(member, bool) and -_INT64_MAX <= member <= _INT64_MAX


def _go_kind(value: Any) -> str:
    kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds[type(value)]


_AFTER = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
}


def _syntax_problem(text: str) -> str:
    """The first syntax error of a JSON text, in the words of Go's encoding/json."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        where = _AFTER.get(error.msg)
        if where is not None and error.pos < len(text):
            return f"invalid character '{text[error.pos]}' {where}"
    return "unexpected end of JSON input"
