"""What a label key and a label value may look like, with the original's words for what is wrong."""

import re
from collections.abc import Sequence

NAME_BYTES_MAX = 63
SUBDOMAIN_CHARACTERS_MAX = 253

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_name, _value, _subdomain = re.compile(_NAME), re.compile(_VALUE), re.compile(_SUBDOMAIN)

_EMPTY = "must be non-empty"
_TOO_LONG = f"must be no more than {NAME_BYTES_MAX} bytes"
_CHARACTERS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character"
)
_NAME_RULE = (
    f"{_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_KEY_RULE = f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '{_VALUE}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


def key_problems(key: str) -> Sequence[str]:
    """What is wrong with a label key: an optional DNS subdomain, `/`, and a name."""
    parts = key.split("/")
    if len(parts) > 2:
        return (_KEY_RULE,)
    problems = _prefix_problems(parts[0]) if len(parts) == 2 else []
    name = parts[-1]
    if not name:
        problems.append(f"name part {_EMPTY}")
    elif len(name.encode()) > NAME_BYTES_MAX:
        problems.append(f"name part {_TOO_LONG}")
    if not _name.fullmatch(name):
        problems.append(f"name part {_NAME_RULE}")
    return problems


def _prefix_problems(prefix: str) -> list[str]:
    if not prefix:
        return [f"prefix part {_EMPTY}"]
    problems = []
    if len(prefix) > SUBDOMAIN_CHARACTERS_MAX:
        problems.append(f"prefix part must be no more than {SUBDOMAIN_CHARACTERS_MAX} characters")
    if not _subdomain.fullmatch(prefix):
        problems.append(f"prefix part {_SUBDOMAIN_RULE}")
    return problems


def value_problems(value: str) -> Sequence[str]:
    """What is wrong with a label value."""
    problems = []
    if len(value.encode()) > NAME_BYTES_MAX:
        problems.append(_TOO_LONG)
    if not _value.fullmatch(value):
        problems.append(_VALUE_RULE)
    return problems
