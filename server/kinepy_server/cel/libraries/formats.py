"""Named formats: `format.dns1123Label().validate(name)`."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from functools import partial
from uuid import UUID

from kinepy_server.cel.errors import EvaluationError
from kinepy_server.cel.libraries.network import is_url
from kinepy_server.cel.signatures import table, traverse_second
from kinepy_server.cel.values import NAMES, NONE, Optional, date_of, timestamp_of

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


class NamedFormat:
    """A format with the problems that a text has in it."""

    __slots__ = ("name", "problems")

    def __init__(self, name: str, problems: Callable[[str], list[str]]) -> None:
        self.name, self.problems = name, problems

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


NAMES[NamedFormat] = "kubernetes.NamedFormat"


def _pattern(form: str, *, length_max: int, text: str, prefix: bool = False) -> Callable[[str], list[str]]:
    compiled = re.compile(form, re.ASCII)

    def problems(value: str) -> list[str]:
        found = []
        tested = value.removesuffix("-") if prefix else value
        if len(value) > length_max:
            found.append(f"must be no more than {length_max} characters")
        if not compiled.fullmatch(tested):
            found.append(text)
        return found

    return problems


def _parses(parse: Callable[[str], object], text: str) -> Callable[[str], list[str]]:
    def problems(value: str) -> list[str]:
        try:
            parse(value)
        except (EvaluationError, ValueError, binascii.Error):
            return [text]
        return []

    return problems


def _url(value: str) -> None:
    if not is_url(value):
        raise ValueError(value)


def _base64(value: str) -> bytes:
    return base64.b64decode(value, validate=True)


_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end"
    " with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start"
    " and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_DNS1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"

FORMATS: Mapping[str, NamedFormat] = {
    name: NamedFormat(name, problems)
    for name, problems in {
        "dns1123Label": _pattern(_LABEL, length_max=63, text=_LABEL_TEXT),
        "dns1123Subdomain": _pattern(_SUBDOMAIN, length_max=253, text=_SUBDOMAIN_TEXT),
        "dns1035Label": _pattern(_DNS1035, length_max=63, text=_DNS1035_TEXT),
        "qualifiedName": _pattern(
            rf"({_SUBDOMAIN}/)?([A-Za-z0-9][-A-Za-z0-9_.]{{0,61}})?[A-Za-z0-9]",
            length_max=317,
            text=_QUALIFIED_TEXT,
        ),
        "dns1123LabelPrefix": _pattern(_LABEL, length_max=63, text=_LABEL_TEXT, prefix=True),
        "dns1123SubdomainPrefix": _pattern(_SUBDOMAIN, length_max=253, text=_SUBDOMAIN_TEXT, prefix=True),
        "dns1035LabelPrefix": _pattern(_DNS1035, length_max=63, text=_DNS1035_TEXT, prefix=True),
        "labelValue": _pattern(
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", length_max=63, text=_VALUE_TEXT
        ),
        "uri": _parses(_url, "invalid URI"),
        "uuid": _parses(UUID, "does not match the UUID format"),
        "byte": _parses(_base64, "invalid base64"),
        "date": _parses(date_of, "invalid date"),
        "datetime": _parses(timestamp_of, "invalid datetime"),
    }.items()
}


def _same(named: NamedFormat) -> NamedFormat:
    return named


def _named(name: str) -> Optional:
    found = FORMATS.get(name)
    return NONE if found is None else Optional(found)


def _validate(named: NamedFormat, value: str) -> Optional:
    problems = named.problems(value)
    return Optional(problems) if problems else NONE


FUNCTIONS = [
    *table({f"format.{name}() -> format": partial(_same, named) for name, named in FORMATS.items()}),
    *table(
        {
            "format.named(string) -> optional<format>": _named,
            "format.validate(string) -> optional<list<string>>": (_validate, traverse_second),
        }
    ),
]
