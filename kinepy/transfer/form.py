"""The portable format: lines of JSON.

    {"format":"kinepy","version":1,"contents":"state","store_id":...,"revision":...,"floors":[[prefix,revision],...],
     "epochs":[[number,base_revision,reason,started_at],...],"created_at":...}
    {"lease":id,"ttl_s":...,"expires_at":...}                                               any number, by id
    {"revision":...,"sub":...,"key":...,"value":...,"create_revision":...,"version":...,
     "prev_revision":...,"lease":...,"batch":...,"committed_at":...,"actor":...}            any number
    {"end":{"leases":...,"rows":...,"sha256":...}}

`contents` is `state` (the live keys at `revision`, by key) or `history` (all rows of the log, by revision and sub).
Bytes that are UTF-8 are text; others stand under the name with `64` after it, in base64. A tombstone's value is null.
Times are microseconds since 1970. The digest is of all bytes before the last line.
"""

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from kinepy.drivers.base import EpochRow, LeaseRow, LogRow
from kinepy.revision import Revision
from kinepy.transfer.problems import BadTransfer

FORMAT: Final = "kinepy"
VERSION: Final = 1
CONTENTS: Final = ("state", "history")
_INTEGER_MAX: Final = 2**63 - 1

Contents = Literal["state", "history"]
Json = dict[str, Any]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: what the file is, and of what."""

    contents: Contents
    store_id: str
    revision: Revision
    created_at: int
    floors: dict[bytes, Revision] = field(default_factory=dict)
    epochs: tuple[EpochRow, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """The last line: without it the file was cut short."""

    leases: int
    rows: int
    sha256: str


def header_line(header: Header) -> bytes:
    """The first line."""
    floors = [[b64encode(prefix).decode(), floor] for prefix, floor in sorted(header.floors.items())]
    return _line(
        {
            "format": FORMAT,
            "version": VERSION,
            "contents": header.contents,
            "store_id": header.store_id,
            "revision": header.revision,
            "floors": floors,
            "epochs": [list(epoch) for epoch in header.epochs],
            "created_at": header.created_at,
        }
    )


def lease_line(lease: LeaseRow) -> bytes:
    """The line of a lease."""
    return _line({"lease": lease.id, "ttl_s": lease.ttl_s, "expires_at": lease.expires_at})


def row_line(row: LogRow) -> bytes:
    """The line of a row of the log."""
    line: Json = {"revision": row.revision, "sub": row.sub}
    _put_bytes(line, "key", row.key)
    if row.value is None:
        line["value"] = None
    else:
        _put_bytes(line, "value", row.value)
    for name in ("create_revision", "version", "prev_revision", "lease", "batch", "committed_at", "actor"):
        line[name] = getattr(row, name)
    return _line(line)


def end_line(end: End) -> bytes:
    """The last line."""
    return _line({"end": {"leases": end.leases, "rows": end.rows, "sha256": end.sha256}})


def _line(value: Json) -> bytes:
    return _encode(value).encode() + b"\n"


def _put_bytes(line: Json, name: str, value: bytes) -> None:
    try:
        line[name] = value.decode()
    except UnicodeDecodeError:
        line[name + "64"] = b64encode(value).decode()


# --- reading


def parse_line(line: bytes, number: int) -> Json:
    """A line's object. Raises `BadTransfer`."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadTransfer(f"line {number} is no JSON: the file is damaged, take another copy") from error
    if not isinstance(found, dict):
        raise BadTransfer(f"line {number} is no JSON object: the file is damaged, take another copy")
    return found


def header_of(line: Json) -> Header:
    """The header in the first line. Raises `BadTransfer`."""
    if line.get("format") != FORMAT:
        raise BadTransfer(
            "the file is no export of kinepy: name one made by `kinepy backup` or `kinepy export`"
        )
    if line.get("version") != VERSION:
        raise BadTransfer(
            f"the file has version {line.get('version')!r} of the format, and this kinepy reads {VERSION}: "
            "use the kinepy that wrote it, or a newer one"
        )
    try:
        if line["contents"] not in CONTENTS:
            raise ValueError(line["contents"])
        return Header(
            contents=line["contents"],
            store_id=_text(line["store_id"]),
            revision=Revision(_integer(line["revision"], least=1)),
            created_at=_integer(line["created_at"]),
            floors={
                b64decode(prefix, validate=True): Revision(_integer(floor))
                for prefix, floor in line["floors"]
            },
            epochs=tuple(
                EpochRow(_integer(number), Revision(_integer(base)), _text(reason), _integer(started_at))
                for number, base, reason, started_at in line["epochs"]
            ),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise _damaged(1, error) from error


def lease_of(line: Json, number: int) -> LeaseRow:
    """The lease in a line. Raises `BadTransfer`."""
    try:
        return LeaseRow(
            _integer(line["lease"], least=1), _integer(line["ttl_s"]), _integer(line["expires_at"])
        )
    except (KeyError, ValueError, TypeError) as error:
        raise _damaged(number, error) from error


def row_of(line: Json, number: int) -> LogRow:
    """The row of the log in a line. Raises `BadTransfer`."""
    try:
        return LogRow(
            revision=Revision(_integer(line["revision"], least=1)),
            sub=_integer(line["sub"]),
            key=_bytes(line, "key"),
            value=None if line.get("value", "") is None else _bytes(line, "value"),
            create_revision=Revision(_integer(line["create_revision"])),
            version=_integer(line["version"], least=1),
            prev_revision=Revision(_integer(line["prev_revision"])),
            lease=None if line["lease"] is None else _integer(line["lease"], least=1),
            batch=_integer(line["batch"]),
            committed_at=_integer(line["committed_at"]),
            actor=None if line["actor"] is None else _text(line["actor"]),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise _damaged(number, error) from error


def end_of(line: Json, number: int) -> End:
    """What the last line says. Raises `BadTransfer`."""
    try:
        end = line["end"]
        return End(_integer(end["leases"]), _integer(end["rows"]), _text(end["sha256"]))
    except (KeyError, ValueError, TypeError) as error:
        raise _damaged(number, error) from error


def _damaged(number: int, error: Exception) -> BadTransfer:
    what = f"{error.args[0]!s:.60}" if error.args else type(error).__name__
    return BadTransfer(f"line {number} is not of the format ({what}): the file is damaged, take another copy")


def _integer(value: object, *, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= _INTEGER_MAX:
        raise ValueError(f"{value!r} is no number from {least} to {_INTEGER_MAX}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or "\x00" in value:
        raise ValueError(f"{value!r} is no text")
    return value


def _bytes(line: Json, name: str) -> bytes:
    if name in line:
        text = line[name]
        if not isinstance(text, str):
            raise ValueError(f"{name} is no text")
        return text.encode()
    return b64decode(line[name + "64"], validate=True)
