"""How far back each key can be read, worked out in the plainest way: by the longest prefix that has a floor."""

from collections.abc import Mapping, Sequence

from kinepy import KeyRange, Revision
from kinepy.keys import prefix_end

Floors = Mapping[bytes, Revision]
"""The floor of each prefix that has one; b"" is always among them."""


def floor_of_key(floors: Floors, key: bytes) -> Revision:
    """The oldest revision at which a key can be read."""
    return floors[owner_of(floors, key)]


def owner_of(floors: Floors, key: bytes) -> bytes:
    """The longest prefix with a floor that a key begins with."""
    return max((prefix for prefix in floors if key.startswith(prefix)), key=len)


def floor_of(floors: Floors, key_range: KeyRange) -> Revision:
    """The oldest revision at which all of a range can be read."""
    return max(floor_of_key(floors, part.start) for part in parts(floors, key_range))


def parts(floors: Floors, key_range: KeyRange) -> Sequence[KeyRange]:
    """A range, cut where the prefixes begin and end: within a part all keys have one floor."""
    cuts = {key_range.start, *floors, *filter(None, map(prefix_end, floors))}
    edges = sorted(edge for edge in cuts if edge in key_range)
    return [KeyRange(start, end) for start, end in zip(edges, [*edges[1:], key_range.end], strict=True)]
