"""Rules of retention: how much history the keys of a prefix keep, as people write them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
UNITS_BYTES: Final = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
LAST_KEPT_S: Final = 10.0
"""`last` keeps this much all the same, so that processes and clients that lag for a moment need not begin anew."""

_AGE: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd])", re.ASCII)
_CHANGES: Final = re.compile(r"\d+", re.ASCII)
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)(KiB|MiB|GiB)", re.ASCII)


class BadRetention(ValueError):
    """A rule that cannot be read; the text says what is wrong and how to write it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """History that is kept: everything younger than `keep_s` and, at least, the newest `keep_changes` changes; but
    never more than `bytes_max`. Without the first two only the size decides; `forever` gives up nothing."""

    keep_s: float | None = None
    keep_changes: int | None = None
    bytes_max: int | None = None
    forever: bool = False

    @property
    def goes_by_size_only(self) -> bool:
        """Whether neither age nor number counts."""
        return self.keep_s is None and self.keep_changes is None


def parse_policy(text: str) -> Retention:
    """What `1h`, `100000`, `512MiB`, `last`, `forever`, or several with commas between them say. Raises
    `BadRetention`."""
    if text == "forever":
        return Retention(forever=True)
    if text == "last":
        return Retention(keep_s=LAST_KEPT_S)
    keep_s: float | None = None
    keep_changes = bytes_max = None
    for part in text.split(","):
        if match := _AGE.fullmatch(part):
            keep_s = float(match[1]) * UNITS_S[match[2]]
        elif match := _SIZE.fullmatch(part):
            bytes_max = int(float(match[1]) * UNITS_BYTES[match[2]])
        elif _CHANGES.fullmatch(part):
            keep_changes = int(part)
        else:
            raise BadRetention(
                f"{part!r} is no retention: write an age (30s, 10m, 1h, 7d), a number of changes (100000), "
                "a size (512MiB), some of them with commas between them, or last, or forever"
            )
    return Retention(keep_s=keep_s, keep_changes=keep_changes, bytes_max=bytes_max)


def parse_rules(texts: Iterable[str], *, default: Retention) -> Mapping[bytes, Retention]:
    """The rule of each prefix that `PREFIX=POLICY` texts name; b"" has the rule of all other keys, which a text without
    a prefix replaces. Raises `BadRetention`."""
    rules = {b"": default}
    for text in texts:
        prefix, _, policy = text.rpartition("=")
        rules[prefix.encode(errors="surrogateescape")] = parse_policy(policy)
    return rules


def rule_for(rules: Mapping[bytes, Retention], prefix: bytes) -> Retention:
    """The rule of the longest prefix that `prefix` begins with."""
    longest = max((known for known in rules if prefix.startswith(known)), key=len)
    return rules[longest]
