"""Checks of amounts of resources."""

from typing import Any

from kinepy_server.resources.checks.causes import Key, Path, invalid
from kinepy_server.resources.resource import FieldError
from kinepy_server.schema.quantity import quantity_value

NEGATIVE = "must be greater than or equal to 0"


def amount(value: Any, path: Path, errors: list[FieldError]) -> None:
    """An amount that is not negative."""
    if quantity_value(value) < 0:
        errors.append(invalid(path, value, NEGATIVE))


def positive_amount(value: Any, path: Path, errors: list[FieldError]) -> None:
    """An amount of something."""
    if quantity_value(value) <= 0:
        errors.append(invalid(path, value, "must be greater than zero"))


def resource_list(value: Any, path: Path, errors: list[FieldError]) -> None:
    """Amounts by resource."""
    for name, text in value.items():
        amount(text, (path, Key(name)), errors)


def within_limits(value: Any, path: Path, errors: list[FieldError]) -> None:
    """What is requested is not more than the limit."""
    limits = value.get("limits") or {}
    for name, text in (value.get("requests") or {}).items():
        limit = limits.get(name)
        if limit is not None and quantity_value(text) > quantity_value(limit):
            detail = f"must be less than or equal to {name} limit of {limit}"
            errors.append(invalid(((path, "requests"), Key(name)), text, detail))
