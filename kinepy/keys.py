"""Keys and key ranges.

A key is a non-empty byte string, compared bytewise everywhere, so NUL and `-` < `/` sort as in etcd.
Every range is half-open: `start` belongs to it, `end` does not.
"""

from dataclasses import dataclass
from typing import Self


def successor(key: bytes) -> bytes:
    """The smallest key greater than `key`."""
    return key + b"\x00"


def prefix_end(prefix: bytes) -> bytes | None:
    """The smallest key greater than every key that starts with `prefix`; None when there is no such key."""
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        return None
    return stripped[:-1] + bytes((stripped[-1] + 1,))


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys `start <= key < end`; `end=None` means no upper bound."""

    start: bytes
    end: bytes | None

    @classmethod
    def single(cls, key: bytes) -> Self:
        """The range that holds only `key`."""
        return cls(key, successor(key))

    @classmethod
    def prefix(cls, prefix: bytes) -> Self:
        """The range of all keys that start with `prefix`; all keys for the empty prefix."""
        return cls(prefix, prefix_end(prefix))

    @classmethod
    def everything(cls) -> Self:
        """The range of all keys."""
        return cls(b"", None)

    @property
    def is_single(self) -> bool:
        """Whether the range can hold one key only."""
        return self.end == successor(self.start)

    @property
    def is_empty(self) -> bool:
        """Whether no key can be in the range."""
        return self.end is not None and self.end <= self.start

    def after(self, key: bytes) -> Self:
        """The part of the range that follows `key`."""
        return type(self)(max(self.start, successor(key)), self.end)

    def __contains__(self, key: bytes) -> bool:
        return key >= self.start and (self.end is None or key < self.end)
