"""Server-side apply on plain sets of paths: slow, obvious, and independent of the product's trees.

An object is a dict from paths to what stands there: a value for what is owned as a whole, `...` for what has
paths below. A path is a tuple of steps `(how, what)`; `how` is `field` for a member of an object type, `entry` of
a map, `element` of a list.
"""

from collections.abc import Iterator
from typing import Any

from kinepy_server.schema.types import Kind, Type

Path = tuple[tuple[str, str], ...]
Flat = dict[Path, Any]
Paths = frozenset[Path]
INSIDE = ...


def flat(of: Type, value: Any) -> Flat:
    """The paths of an object without its metadata."""
    return dict(_walk(of, {name: below for name, below in value.items() if name != "metadata"}, ()))


def _walk(of: Type, value: Any, above: Path) -> Iterator[tuple[Path, Any]]:
    if of.kind is Kind.OBJECT and of.map_type != "atomic":
        for name, below in value.items():
            yield from _place(of.properties[name].type, below, (*above, ("field", name)))
    elif of.kind is Kind.MAP and of.map_type != "atomic":
        for name, below in value.items():
            yield from _place(of.items, below, (*above, ("entry", name)))
    else:
        for below in value:
            name = below["key"] if of.list_type == "map" else below
            yield from _place(of.items, below, (*above, ("element", name)))


def _place(of: Any, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if of.kind is Kind.STRING or "atomic" in (of.map_type, of.list_type if of.kind is Kind.LIST else ""):
        yield path, value
    else:
        yield path, INSIDE
        yield from _walk(of, value, path)


def is_inside(path: Path, above: Path) -> bool:
    """Whether a path is at or below another."""
    return path[: len(above)] == above


def claimed(config: Flat) -> Paths:
    """What a configuration claims: values, elements, entries, and objects and maps that hold nothing."""
    parents = {path[:-1] for path in config}
    return frozenset(
        path
        for path, value in config.items()
        if value is not INSIDE or path[-1][0] != "field" or path not in parents
    )


def closed(paths: Paths) -> Paths:
    """With all members of objects on the way."""
    above = {path[:end] for path in paths for end in range(1, len(path))}
    return paths | {path for path in above if path[-1][0] == "field"}


def merged(live: Flat, config: Flat) -> Flat:
    """Every path of both; where both have a value, the configuration's."""
    return {**live, **config}


def pruned(merged: Flat, last: Paths, held: Paths) -> Flat:
    """Without what was applied last and is held by nobody, now or on the way to it."""
    last, held = closed(last), closed(held)

    def survives(path: Path) -> bool:
        prefixes = [path[:end] for end in range(1, len(path) + 1)]
        untouched = [not any(is_inside(prefix, gone) for gone in last) for prefix in prefixes]
        return all(free or prefix in held for free, prefix in zip(untouched, prefixes, strict=True))

    gone = [path for path in merged if path in last and not survives(path)]
    return {path: value for path, value in merged.items() if not any(is_inside(path, one) for one in gone)}


def written(old: Flat, new: Flat) -> Paths:
    """What is new or has another value."""
    return frozenset(path for path, value in new.items() if path not in old or old[path] != value)


def removed(old: Flat, new: Flat) -> Paths:
    """What went."""
    return frozenset(path for path in old if path not in new)


def emptied(before: Flat, after: Flat) -> Flat:
    """A member of an object that lost all that it had becomes null, and holds nothing. The object has it still: it is
    not empty for that."""
    had, has = ({path[:-1] for path in paths} for paths in (before, after))
    return {
        path: value
        for path, value in after.items()
        if value is not INSIDE or path[-1][0] != "field" or path in has or path not in had
    }
