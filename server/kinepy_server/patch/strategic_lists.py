"""The lists of strategic merge patches: which elements are the same, and in which order they stand."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from kinepy_server.patch.strategic_errors import PatchRefused, bad_type, nested_lists, no_merge_key
from kinepy_server.schema.go_text import go_text, go_type

_SORTED = orjson.OPT_SORT_KEYS


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes an element itself: the value of its merge `key`, or, without one, the whole element."""

    key: str = ""

    def of(self, element: Any) -> Hashable:
        """Equal for elements that are the same. Raises PatchRefused for a map without its key."""
        if not self.key:
            return _token(element)
        if not isinstance(element, dict):
            raise bad_type({}, element)
        if self.key not in element:
            raise no_merge_key(element, self.key)
        return _token(element[self.key])

    def places(self, elements: Iterable[Any]) -> dict[Hashable, int]:
        """Where each element stands first. Raises PatchRefused for a map without its key."""
        found: dict[Hashable, int] = {}
        for at, element in enumerate(elements):
            found.setdefault(self.of(element), at)
        return found


def _token(value: Any) -> Hashable:
    # With its type, since 1 equals True.
    return type(value), orjson.dumps(value, option=_SORTED) if isinstance(value, dict | list) else value


def are_maps(*lists: Sequence[Any]) -> bool | None:
    """Whether the elements of some lists are maps; None when there are no elements.

    Raises PatchRefused when they are of several types, or lists.
    """
    types = {go_type(element) for elements in lists for element in elements}
    if not types:
        return None
    if go_type([]) in types:
        raise nested_lists()
    if len(types) > 1:
        raise PatchRefused(f"list element types are not identical: {go_text([list(one) for one in lists])}")
    return go_type({}) in types


def merge_scalars(original: Sequence[Any], patch: Sequence[Any]) -> list[Any]:
    """All elements of both, each once."""
    return list({_token(value): value for value in (*original, *patch)}.values())


def without(elements: Sequence[Any], gone: Sequence[Any], *, identity: Identity) -> list[Any]:
    """The elements that are not the same as one of `gone`. Maps without their key stay."""
    places = identity.places(gone)
    key = identity.key
    kept = []
    for element in elements:
        if key and not isinstance(element, dict):
            raise bad_type({}, element)
        if (key and key not in element) or identity.of(element) not in places:
            kept.append(element)
    return kept


def in_order(
    merged: Sequence[Any], identity: Identity, *, first: Sequence[Any], live: Sequence[Any]
) -> list[Any]:
    """`merged` in the order of the patch and of the live list.

    Elements of `first` stand in its order, the others in the live list's. Where the two meet, those of `first`
    come before, unless the live list had the other one in front.
    """
    wanted, placed = identity.places(first), identity.places(live)
    patched = [one for one in merged if identity.of(one) in wanted]
    others = [one for one in merged if identity.of(one) not in wanted]
    patched.sort(key=lambda one: wanted[identity.of(one)])
    others.sort(key=lambda one: placed.get(identity.of(one), -1))
    return _interleaved(others, patched, identity=identity, placed=placed)


def _interleaved(
    others: Sequence[Any], patched: Sequence[Any], *, identity: Identity, placed: Mapping[Hashable, int]
) -> list[Any]:
    result: list[Any] = []
    waiting = 0
    for element in patched:
        at = placed.get(identity.of(element), -1)
        while waiting < len(others) and 0 <= placed.get(identity.of(others[waiting]), -1) < at:
            result.append(others[waiting])
            waiting += 1
        result.append(element)
    return [*result, *others[waiting:]]
