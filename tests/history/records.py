"""What clients of a store did and saw, as plain data: names of keys, texts as values, times of one clock.

Every written value is written once in a history, so that a value tells the call that wrote it.
"""

from dataclasses import dataclass, field
from enum import Enum
from math import inf


class Kind(Enum):
    """What was asked for."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    GET = "get"
    LIST = "list"


class Outcome(Enum):
    """What the caller was told."""

    DONE = "done"
    EXISTS = "the key exists"
    ABSENT = "there is no such key"
    CONFLICT = "the key is not at the expected revision"
    UNDONE = "surely not done"
    UNKNOWN = "done or not done"


REFUSALS = frozenset({Outcome.EXISTS, Outcome.ABSENT, Outcome.CONFLICT})


@dataclass(slots=True)
class Call:
    """One call. `returned` is endless while nothing came back; a write that is UNKNOWN may be done long after."""

    kind: Kind
    key: str
    called: float
    value: str = ""
    """what it writes"""
    expect: int = 0
    """the revision that the key must be at; 0 for creates and reads"""
    returned: float = inf
    outcome: Outcome = Outcome.UNKNOWN
    revision: int = 0
    """of the version that was written or read, or of the list; 0 where the store did not tell"""
    seen: str = ""
    """the value that was read"""
    items: dict[str, int] = field(default_factory=dict)
    """what a list held: key -> revision"""

    def __str__(self) -> str:
        told = f"{self.outcome.value}, revision {self.revision}" if self.revision else self.outcome.value
        return f"{self.kind.value} {self.key}={self.value or self.seen!r} at {self.expect}: {told}"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the store's log: what decided the order. `value` is None for a delete."""

    revision: int
    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Seen:
    """One event that a watcher was told. A delete carries the value that was deleted."""

    revision: int
    type: str
    """ADDED, MODIFIED or DELETED"""
    key: str
    value: str


@dataclass(slots=True)
class Watched:
    """What one watcher was told of everything after a revision up to another, over all its reconnections."""

    name: str
    after: int
    upto: int = 0
    events: list[Seen] = field(default_factory=list)
    resumes: int = 0


@dataclass(slots=True)
class History:
    """All of it."""

    calls: list[Call] = field(default_factory=list)
    watchers: list[Watched] = field(default_factory=list)
