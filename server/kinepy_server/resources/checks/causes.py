"""The causes of a refused object, in the original's words."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import orjson

from kinepy_server.resources.resource import FieldError
from kinepy_server.resources.strategies.keys import quoted

Path: TypeAlias = tuple[Any, "str | int | Key"] | None
"""A chain of parent and name, so that going down costs one tuple."""


class Key(str):
    """A name in a path that is written in brackets."""

    __slots__ = ()


def path_text(path: Path) -> str:
    """How causes write a path: `spec.items[0].name`, `metadata.labels[key]`."""
    parts: list[str] = []
    while path is not None:
        path, name = path
        parts.append(f".{name}" if type(name) is str else f"[{name}]")
    return "".join(reversed(parts)).removeprefix(".")


def path_of(text: str) -> Path:
    """The path of dotted names."""
    path: Path = None
    for name in text.split("."):
        path = (path, name)
    return path


def shown(value: Any) -> str:
    """A value as causes write it: strings quoted, everything else as JSON."""
    return quoted(value) if isinstance(value, str) else orjson.dumps(value).decode()


def invalid(path: Path, value: Any, detail: str) -> FieldError:
    """`Invalid value`."""
    return FieldError(path_text(path), "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}")


def required(path: Path, detail: str = "") -> FieldError:
    """`Required value`."""
    text = f"Required value: {detail}" if detail else "Required value"
    return FieldError(path_text(path), "FieldValueRequired", text)


def duplicate(path: Path, value: Any) -> FieldError:
    """`Duplicate value`."""
    return FieldError(path_text(path), "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def unsupported(path: Path, value: Any, supported: Sequence[str]) -> FieldError:
    """`Unsupported value`."""
    values = ", ".join(map(quoted, supported))
    text = f"Unsupported value: {shown(value)}"
    return FieldError(
        path_text(path), "FieldValueNotSupported", f"{text}: supported values: {values}" if values else text
    )


def forbidden(path: Path, detail: str) -> FieldError:
    """`Forbidden`."""
    return FieldError(path_text(path), "FieldValueForbidden", f"Forbidden: {detail}")


def not_found(path: Path, value: Any) -> FieldError:
    """`Not found`."""
    return FieldError(path_text(path), "FieldValueNotFound", f"Not found: {shown(value)}")


def too_long(path: Path, most: int) -> FieldError:
    """`Too long`."""
    return FieldError(path_text(path), "FieldValueTooLong", f"Too long: may not be more than {most} bytes")


def too_many(path: Path, actual: int, most: int) -> FieldError:
    """`Too many`."""
    items = "item" if most == 1 else "items"
    text = f"Too many: {actual}: must have at most {most} {items}"
    return FieldError(path_text(path), "FieldValueTooMany", text)
