"""Which fields differ between two versions of an object, by the schema's kinds of lists and maps."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import orjson

from kinepy_server.apply.field_set import SELF, FieldSet
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.types import Kind, Property, Type

_UNTRACKED = frozenset(("apiVersion", "kind"))
_UNTRACKED_METADATA = frozenset(
    (
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "generation",
        "managedFields",
        "resourceVersion",
    )
)
_EMPTY: Mapping[str, Any] = {}
Pair: TypeAlias = tuple[Any, Any]
_COMPOUND = (Kind.OBJECT, Kind.MAP, Kind.LIST)


class Comparison:
    """What changed: `written` holds the fields added or given another value, `removed` those that went.

    An empty tree here means that there are none.
    """

    __slots__ = ("removed", "written")

    def __init__(self) -> None:
        self.written: FieldSet = {}
        self.removed: FieldSet = {}

    def put(self, element: str, below: "Comparison") -> None:
        """Add what changed below a path element."""
        if below.written:
            self.written[element] = below.written
        if below.removed:
            self.removed[element] = below.removed


def compare(kind: Type, old: JsonObject, new: JsonObject) -> Comparison:
    """The tracked fields in which two objects differ."""
    found = Comparison()
    for name in new.keys() | old.keys():
        before, after = old.get(name), new.get(name)
        if name == "metadata":
            metadata = Comparison()
            _compare_members(kind.properties[name].type, (before, after), metadata, skip=_UNTRACKED_METADATA)
            found.put("f:metadata", metadata)
        elif before != after and name not in _UNTRACKED:
            _compare_member(kind.properties.get(name), (before, after), found, name=name)
    return found


def _compare_members(
    kind: Type, pair: Pair, found: Comparison, *, skip: frozenset[str] = frozenset()
) -> None:
    old, new = pair[0] or _EMPTY, pair[1] or _EMPTY
    for name in new.keys() | old.keys():
        before, after = old.get(name), new.get(name)
        if before != after and name not in skip:
            _compare_member(kind.properties.get(name), (before, after), found, name=name)


def _compare_member(prop: Property | None, pair: Pair, found: Comparison, *, name: str) -> None:
    element = f"f:{name}"
    if prop is None:
        (found.written if pair[1] is not None else found.removed)[element] = {}
        return
    kind = prop.type
    if kind.kind is Kind.OBJECT and not prop.pointer:
        # The original's objects always have their plain structs, so these never appear or vanish.
        pair = pair[0] or {}, pair[1] or {}
    _compare_value(kind, pair, found, element=element, atomic=prop.map_type == "atomic")


def _compare_value(kind: Type, pair: Pair, found: Comparison, *, element: str, atomic: bool = False) -> None:
    before, after = pair
    if before == after:
        return
    if after is None:
        found.removed[element] = all_fields(kind, before, atomic=atomic)
    elif before is None:
        found.written[element] = all_fields(kind, after, atomic=atomic)
    elif atomic or is_leaf(kind):
        found.written[element] = {}
    else:
        below = Comparison()
        _compare_inside(kind, pair, below)
        found.put(element, below)


def _compare_inside(kind: Type, pair: Pair, found: Comparison) -> None:
    if kind.kind is Kind.OBJECT:
        _compare_members(kind, pair, found)
        return
    assert kind.items is not None
    before, after = (_elements(kind, value) for value in pair)
    for element in after.keys() | before.keys():
        _compare_value(kind.items, (before.get(element), after.get(element)), found, element=element)


def _elements(kind: Type, value: Any) -> Mapping[str, Any]:
    if kind.kind is Kind.LIST:
        return elements(kind, value)
    return {f"f:{name}": below for name, below in value.items()}


def all_fields(kind: Type, value: Any, *, atomic: bool = False) -> FieldSet:
    """The fields of a value that did not exist before, the value itself among them."""
    if atomic or not value or is_leaf(kind):
        return {}
    found: FieldSet = {SELF: {}}
    if kind.kind is Kind.OBJECT:
        for name, below in value.items():
            prop = kind.properties.get(name)
            if prop is None:
                found[f"f:{name}"] = {}
            else:
                found[f"f:{name}"] = all_fields(prop.type, below, atomic=prop.map_type == "atomic")
        return found
    items = kind.items
    assert items is not None
    if kind.kind is Kind.MAP:
        if items.kind not in _COMPOUND:
            found.update((f"f:{name}", {}) for name in value)
        else:
            found.update((f"f:{name}", all_fields(items, below)) for name, below in value.items())
    else:
        found.update((element, all_fields(items, below)) for element, below in elements(kind, value).items())
    return found


def is_leaf(kind: Type) -> bool:
    """Whether values of a type are owned as a whole."""
    match kind.kind:
        case Kind.OBJECT | Kind.MAP:
            return kind.map_type == "atomic"
        case Kind.LIST:
            return kind.list_type == "atomic"
        case _:
            return True


def elements(kind: Type, values: Sequence[Any]) -> dict[str, Any]:
    """The elements of a set or a keyed list by their path elements. Of repeated ones the last counts."""
    if kind.list_type == "map":
        return {_key_element(kind, value): value for value in values if isinstance(value, dict)}
    return {f"v:{orjson.dumps(value).decode()}": value for value in values}


def _key_element(kind: Type, value: JsonObject) -> str:
    assert kind.items is not None
    key = {}
    for name in kind.list_map_keys:
        prop = kind.items.properties.get(name)
        found = value.get(name, prop.default if prop else None)
        if found is not None:
            key[name] = found
    return f"k:{orjson.dumps(key, option=orjson.OPT_SORT_KEYS).decode()}"
