"""The rules of what a definition's version says besides its schema, in the original's words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kinepy_server.custom.paths import BadPath, field_at
from kinepy_server.resources.checks.causes import Path, duplicate, invalid, required, too_many
from kinepy_server.resources.resource import FieldError, JsonObject

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_LABEL_CHARACTERS_MAX = 63
LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_TYPES = ("boolean", "date", "integer", "number", "string")
_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE = ("string", "boolean", "integer")
_SELECTABLE_MAX = 8
_WARNING_BYTES_MAX = 256
_SIMPLE = "must be a simple json path starting with ."
_UNSELECTABLE = (
    "must point to a field of type string, boolean or integer."
    " Enum string fields and strings with formats are allowed."
)


def is_label(text: str) -> bool:
    """Whether a text is a DNS label as of RFC 1035."""
    return len(text) <= _LABEL_CHARACTERS_MAX and _LABEL.fullmatch(text) is not None


def deprecation_errors(version: JsonObject, path: Path) -> Iterator[FieldError]:
    """The warning of a deprecated version."""
    here, text = (path, "deprecationWarning"), version["deprecationWarning"]
    if not version.get("deprecated"):
        yield invalid(here, text, "can only be set for deprecated versions")
        return
    if len(text.encode()) > _WARNING_BYTES_MAX:
        yield invalid(here, text, f"must be <= {_WARNING_BYTES_MAX} characters long")
    if not text:
        yield invalid(here, text, "must not be an empty string")
    bad = next((index for index, character in enumerate(text) if not character.isprintable()), None)
    if bad is not None:
        rule = "must only contain printable UTF-8 characters; non-printable character found at index"
        yield invalid(here, text, f"{rule} {len(text[:bad].encode())}")


def subresource_errors(value: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """The paths of the Scale."""
    scale = value.get("scale")
    if scale is None:
        return
    here = (path, "scale")
    for name, roots, needed in (
        ("specReplicasPath", (".spec",), True),
        ("statusReplicasPath", (".status",), True),
        ("labelSelectorPath", (".spec", ".status"), False),
    ):
        text = scale.get(name) or ""
        if not text:
            if needed:
                yield required((here, name))
        elif not text.startswith("."):
            yield invalid((here, name), text, _SIMPLE)
        elif not text.startswith(tuple(f"{root}." for root in roots)):
            where = roots[0] if len(roots) == 1 else "either .spec or .status"
            yield invalid((here, name), text, f"should be a json path under {where}")


def column_errors(column: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """A printer column. What its path means is found out when it is printed."""
    if not column.get("name"):
        yield required((path, "name"))
    kind, allowed = column.get("type") or "", f"must be one of {','.join(_TYPES)}"
    if not kind:
        yield required((path, "type"), allowed)
    elif kind not in _TYPES:
        yield invalid((path, "type"), kind, allowed)
    text_format = column.get("format") or ""
    if text_format and text_format not in _FORMATS:
        yield invalid((path, "format"), text_format, f"must be one of {','.join(_FORMATS)}")
    text = column.get("jsonPath") or ""
    if not text:
        yield required((path, "JSONPath"))
    elif not text.startswith("."):
        yield invalid((path, "JSONPath"), text, _SIMPLE)


def selectable_errors(
    declared: Sequence[Mapping[str, str]], path: Path, schema: JsonObject
) -> Iterator[FieldError]:
    """The fields that selectors may name."""
    seen: set[str] = set()
    for index, one in enumerate(declared):
        here, text = ((path, index), "jsonPath"), one.get("jsonPath") or ""
        if not text:
            yield required(here)
            continue
        try:
            field, found = field_at(text, schema)
        except BadPath as error:
            yield invalid(here, text, f"is an invalid path: {error}")
            continue
        if field.partition(".")[0] == "metadata":
            yield invalid(here, text, "must not point to fields in metadata")
        if found.get("type") not in _SELECTABLE:
            yield invalid(here, text, _UNSELECTABLE)
        if field in seen:
            yield duplicate(here, text)
        seen.add(field)
    if len(seen) > _SELECTABLE_MAX:
        yield too_many(path, len(seen), _SELECTABLE_MAX)
