"""The user of a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ANONYMOUS = "system:anonymous"
UNAUTHENTICATED = "system:unauthenticated"
AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class User:
    """An authenticated (or the anonymous) user."""

    name: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)
