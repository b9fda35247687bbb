"""What objects may be called (ERR-2, WR-4)."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random

from kinepy_server.resources.strategies.qualified import SUBDOMAIN, SUBDOMAIN_RULE

GENERATED_BASE_CHARACTERS_MAX = 58
_GENERATED_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"
_GENERATED_LENGTH = 5
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end"
    " with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_KNOWN_NAME_MAX = 512
_NO_DOTS = "must not contain dots"


def _too_long(name: str, most: int) -> list[str]:
    return [f"must be no more than {most} characters"] if len(name) > most else []


def _subdomain(most: int) -> Callable[[str], list[str]]:
    def problems(name: str) -> list[str]:
        found = _too_long(name, most)
        return found if SUBDOMAIN.fullmatch(name) else [*found, SUBDOMAIN_RULE]

    return problems


def _label(name: str) -> list[str]:
    found = _too_long(name, 63)
    if not _LABEL.fullmatch(name):
        found.append(_NO_DOTS if "." in name else _LABEL_RULE)
    return found


def _path_segment(name: str) -> list[str]:
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]


RULES: Mapping[str, Callable[[str], list[str]]] = {
    "dnsSubdomain": _subdomain(253),
    "dnsSubdomain max 63": _subdomain(63),
    "dnsSubdomain max 52": _subdomain(52),
    "dnsLabel": _label,
    "pathSegment": _path_segment,
    "derived": _path_segment,
}
"""The name rules of the fact tables; `derived` names are checked by the type's own strategy."""


def name_problems(rule: str, name: str) -> Sequence[str]:
    """What is wrong with a name, in the original's words; empty when nothing is."""
    # Answers for longer ones are not kept, so that the cache stays small.
    return _known(rule, name) if len(name) <= _KNOWN_NAME_MAX else RULES[rule](name)


@lru_cache(maxsize=8192)
def _known(rule: str, name: str) -> Sequence[str]:
    return tuple(RULES[rule](name))


def prefix_problems(rule: str, base: str) -> Sequence[str]:
    """What is wrong with a generateName: a dash at its end is fine, since characters follow."""
    masked = f"{base[:-1]}a" if len(base) > 1 and base.endswith("-") else base
    return name_problems(rule, masked)


def generated_name(base: str, random: Random) -> str:
    """A name made of a base, cut to leave room, and five random characters."""
    return base[:GENERATED_BASE_CHARACTERS_MAX] + "".join(
        random.choices(_GENERATED_CHARACTERS, k=_GENERATED_LENGTH)
    )
