"""What the tables of checks are made of."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kinepy_server.objects.names import RULES
from kinepy_server.read.selectors.label_syntax import value_problems
from kinepy_server.resources.checks.causes import (
    Path,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from kinepy_server.resources.resource import FieldError
from kinepy_server.resources.strategies.qualified import qualified_name_problems

Check: TypeAlias = Callable[[Any, Path, list[FieldError]], None]
"""Appends what is wrong with a value; called only for values that are set."""
Entry: TypeAlias = tuple[Any, ...]
"""A field and its checks. An empty field stands for the object itself. What is below a field is checked after
its own checks."""
Table: TypeAlias = dict[str, Sequence[Entry]]


@dataclass(frozen=True, slots=True)
class Required:
    """The field must be set, a text or list must not be empty; only then it is checked further."""

    detail: str = ""


REQUIRED = Required()


def require(detail: str) -> Required:
    """Required, with a word why."""
    return Required(detail)


def at_least(least: int, text: str = "") -> Check:
    """A number that is not smaller."""
    detail = text or f"must be greater than or equal to {least}"

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        if value < least:
            errors.append(invalid(path, value, detail))

    return check


NON_NEGATIVE = at_least(0)
POSITIVE = at_least(1, "must be greater than 0")


def between(least: int, most: int, text: str = "") -> Check:
    """A number in a range."""
    detail = text or f"must be between {least} and {most}, inclusive"

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        if not least <= value <= most:
            errors.append(invalid(path, value, detail))

    return check


def at_most(most: int, text: str = "") -> Check:
    """A number that is not larger."""
    detail = text or f"must be less than or equal to {most}"

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        if value > most:
            errors.append(invalid(path, value, detail))

    return check


PORT = between(1, 65535)


def one_of(*values: str) -> Check:
    """One of a set of texts."""

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        if value not in values:
            errors.append(unsupported(path, value, values))

    return check


def each(check: Check) -> Check:
    """A check of every element of a list."""

    def check_all(value: Any, path: Path, errors: list[FieldError]) -> None:
        for index, member in enumerate(value):
            check(member, (path, index), errors)

    return check_all


def unique(*fields: str, at: str = "") -> Check:
    """Elements differ in what some fields of theirs hold; the cause names the field `at`."""

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        seen: set[Any] = set()
        for index, member in enumerate(value):
            key = tuple(member.get(field) for field in fields)
            if key in seen:
                where: Path = ((path, index), at) if at else (path, index)
                errors.append(duplicate(where, member.get(at) if at else member))
            elif any(part is not None for part in key):
                seen.add(key)

    return check


def unique_values(value: Any, path: Path, errors: list[FieldError]) -> None:
    """A list of texts holds each once."""
    seen = set()
    for index, member in enumerate(value):
        if member in seen:
            errors.append(duplicate((path, index), member))
        seen.add(member)


def named(rule: Callable[[str], Iterable[str]]) -> Check:
    """A text that follows a rule of names; an empty one stands for none."""

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        if value:
            errors.extend(invalid(path, value, problem) for problem in rule(value))

    return check


DNS_LABEL, DNS_SUBDOMAIN = named(RULES["dnsLabel"]), named(RULES["dnsSubdomain"])
QUALIFIED_NAME, LABEL_VALUE = named(qualified_name_problems), named(value_problems)
PATH_SEGMENT = named(RULES["pathSegment"])


def labels(value: Any, path: Path, errors: list[FieldError]) -> None:
    """A set of labels."""
    for key, text in value.items():
        errors.extend(invalid(path, key, problem) for problem in qualified_name_problems(key))
        errors.extend(invalid(path, text, problem) for problem in value_problems(text))


def longest(most: int) -> Check:
    """A text of at most so many bytes."""

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        if len(value.encode()) > most:
            errors.append(too_long(path, most))

    return check


def most_items(most: int) -> Check:
    """At most so many elements."""

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        if len(value) > most:
            errors.append(too_many(path, len(value), most))

    return check


def matching(pattern: str, detail: str) -> Check:
    """A text of a form."""
    form = re.compile(pattern, re.ASCII)

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        if not form.fullmatch(value):
            errors.append(invalid(path, value, detail))

    return check


def exactly_one(fields: Sequence[str], *, none: str, several: str) -> Check:
    """Exactly one of several members is set: what is said when none is, and of each further one."""

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        found = [field for field in fields if value.get(field) is not None]
        if not found:
            errors.append(required(path, none))
        errors.extend(forbidden((path, field), several) for field in found[1:])

    return check
