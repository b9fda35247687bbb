"""Decoding: from parsed JSON to an object as the server keeps it.

What the original's decoder and encoder do together happens in one walk: wrong types are refused in its
words, unknown fields are dropped and told, times and bytes become canonical, empty fields that it leaves
out go, and empty ones that it shows come.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

from kinepy_server.schema.compile import Mismatch, compiled

PROBLEMS_MAX = 100
"""More unknown or duplicate fields than this are not told."""


class Validation(Enum):
    """What the client wants done about unknown and duplicate fields (the parameter `fieldValidation`)."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


class DecodeError(ValueError):
    """The value cannot be of the type; the text is the original's."""


def decode(schema: str, value: Any) -> tuple[Any, Sequence[str]]:
    """`value`, changed in place where that is possible, as an object of a schema, and its unknown fields as
    the original tells them, such as `unknown field "spec.x"`, in the order of the document.

    Null counts as an empty object. Raises DecodeError for a value that cannot be of the type.
    """
    problems: list[str] = []
    try:
        decoded = compiled(schema)({} if value is None else value, None, problems)
    except Mismatch as mismatch:
        raise DecodeError(str(mismatch)) from None
    except ValueError as error:
        raise DecodeError(str(error)) from None
    return decoded, list(dict.fromkeys(problems))[:PROBLEMS_MAX] if problems else ()


def empty_object(schema: str) -> Any:
    """An object of a schema that nothing was set in: only the fields that the encoder always shows, such as
    `spec: {}`. A new one each time."""
    return decode(schema, {})[0]
