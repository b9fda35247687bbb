"""Rules that ConfigMaps and Secrets share: names of data keys, the size of the data, immutability."""

import re
from collections.abc import Iterable, Sequence

from kinepy_server.resources.resource import FieldError, JsonObject

DATA_BYTES_MAX = 1024 * 1024
KEY_LENGTH_MAX = 253
KEY = re.compile(r"[-._a-zA-Z0-9]+")
GOOD_KEY = re.compile(r"(?!\.\.|\.\Z)[-._a-zA-Z0-9]+")
KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',"
    "  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
IMMUTABLE = "Forbidden: field is immutable when `immutable` is set"


def invalid(field: str, shown: str, detail: str) -> FieldError:
    """`Invalid value` of a field; `shown` is the value as the message writes it."""
    return FieldError(field, "FieldValueInvalid", f"Invalid value: {shown}: {detail}")


def required(field: str) -> FieldError:
    """`Required value` of a field."""
    return FieldError(field, "FieldValueRequired", "Required value")


def key_errors(member: str, keys: Iterable[str]) -> list[FieldError]:
    """What is wrong with the keys of a data member."""
    errors: list[FieldError] = []
    for key in keys:
        if len(key) <= KEY_LENGTH_MAX and GOOD_KEY.fullmatch(key):
            continue
        errors += [invalid(f"{member}[{key}]", quoted(key), detail) for detail in _key_problems(key)]
    return errors


def _key_problems(key: str) -> Iterable[str]:
    if len(key) > KEY_LENGTH_MAX:
        yield f"must be no more than {KEY_LENGTH_MAX} characters"
    if not KEY.fullmatch(key):
        yield KEY_RULE
    if key == ".":
        yield "must not be '.'"
    elif key == "..":
        yield "must not be '..'"
    elif key.startswith(".."):
        yield "must not start with '..'"


def quoted(text: str) -> str:
    """A string as Go's %q writes it."""
    escaped = "".join(ESCAPES.get(c) or (c if c.isprintable() else _escape(ord(c))) for c in text)
    return f'"{escaped}"'


ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v",
}  # fmt: skip


def _escape(code: int) -> str:
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def too_long(field: str, size: int) -> Sequence[FieldError]:
    """The refusal of more than 1 MiB of data."""
    if size <= DATA_BYTES_MAX:
        return ()
    return (FieldError(field, "FieldValueTooLong", f"Too long: may not be more than {DATA_BYTES_MAX} bytes"),)


def immutable_errors(new: JsonObject, old: JsonObject, members: Sequence[str]) -> list[FieldError]:
    """Changes of an object that has `immutable: true`."""
    if not old.get("immutable"):
        return []
    errors = []
    if not new.get("immutable"):
        errors.append(FieldError("immutable", "FieldValueForbidden", IMMUTABLE))
    changed = [member for member in members if (new.get(member) or {}) != (old.get(member) or {})]
    return errors + [FieldError(member, "FieldValueForbidden", IMMUTABLE) for member in changed]
