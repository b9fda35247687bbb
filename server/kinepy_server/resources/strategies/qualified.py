"""Qualified names: an optional DNS prefix and a name, as labels and finalizers have."""

import re

NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
NAME_LENGTH_MAX = 63
NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
SUBDOMAIN_LENGTH_MAX = 253
SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
TOO_MANY_PARTS = (
    "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g."
    " 'example.com/MyName')"
)


def qualified_name_problems(text: str) -> list[str]:
    """What is wrong with a qualified name, in the original's words and order."""
    parts = text.split("/")
    if len(parts) > 2:
        return [TOO_MANY_PARTS]
    problems = [f"prefix part {problem}" for problem in _prefix_problems(parts[0])] if len(parts) == 2 else []
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > NAME_LENGTH_MAX:
        problems.append(f"name part must be no more than {NAME_LENGTH_MAX} bytes")
    if not NAME.fullmatch(name):
        problems.append(NAME_RULE)
    return problems


def _prefix_problems(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    problems = []
    if len(prefix) > SUBDOMAIN_LENGTH_MAX:
        problems.append(f"must be no more than {SUBDOMAIN_LENGTH_MAX} bytes")
    if not SUBDOMAIN.fullmatch(prefix):
        problems.append(SUBDOMAIN_RULE)
    return problems
