"""Which fields differ between two versions of an object, by the schema's kinds of lists and maps."""

from collections.abc import Mapping
from typing import Any

from kinepy_server.apply.elements import Repeated, elements, is_leaf, is_misfit, is_plain_struct, is_scalar
from kinepy_server.apply.field_set import SELF, FieldSet
from kinepy_server.schema.types import Kind, Property, Type

JsonObject = dict[str, Any]

UNTRACKED = frozenset(("apiVersion", "kind"))
_COMPARED_APART = UNTRACKED | {"metadata"}
UNTRACKED_METADATA = frozenset(
    (
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    )
)
_EMPTY: Mapping[str, Any] = {}
_ABSENT: Any = object()


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
    metadata = Comparison()
    _compare_members(
        kind.properties["metadata"].type,
        old.get("metadata") or _EMPTY,
        new.get("metadata") or _EMPTY,
        found=metadata,
        skip=UNTRACKED_METADATA,
    )
    found.put("f:metadata", metadata)
    _compare_members(kind, old, new, found=found, skip=_COMPARED_APART)
    return found


def _compare_members(
    kind: Type,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    *,
    found: Comparison,
    skip: frozenset[str] = frozenset(),
) -> None:
    properties = kind.properties
    for name in new.keys() | old.keys() if old else new:
        if name in skip:
            continue
        before, after = old.get(name, _ABSENT), new.get(name, _ABSENT)
        if before != after:
            _compare_member(properties.get(name), before, after, found=found, element=f"f:{name}")


def _compare_member(
    prop: Property | None, before: Any, after: Any, *, found: Comparison, element: str
) -> None:
    if prop is None:
        (found.written if after is not _ABSENT else found.removed)[element] = {}
        return
    if is_plain_struct(prop):
        before, after = _there(before), _there(after)
    _compare_value(prop.type, before, after, found=found, element=element, atomic=prop.map_type == "atomic")


def _there(value: Any) -> Any:
    return {} if value is _ABSENT else value


def _compare_value(
    kind: Type, before: Any, after: Any, *, found: Comparison, element: str, atomic: bool = False
) -> None:
    if after is _ABSENT:
        found.removed[element] = all_fields(kind, before, atomic=atomic)
    elif before is _ABSENT:
        found.written[element] = all_fields(kind, after, atomic=atomic)
    elif before == after:
        return
    elif (
        atomic
        or not (before or after)
        or is_leaf(kind)
        or type(before) is Repeated
        or type(after) is Repeated
        or is_misfit(kind, before)
        or is_misfit(kind, after)
    ):
        # Null and empty are leaves: so one can be told from the other.
        found.written[element] = {}
    elif kind.kind is Kind.ANY and not (isinstance(before, dict) and isinstance(after, dict)):
        found.written[element] = {}
        if isinstance(before, dict):
            found.removed[element] = {
                name: below for name, below in all_fields(kind, before).items() if name != SELF
            }
    else:
        below = Comparison()
        _compare_inside(kind, before, after, found=below)
        found.put(element, below)


def _compare_inside(kind: Type, before: Any, after: Any, *, found: Comparison) -> None:
    if kind.kind is Kind.OBJECT:
        _compare_members(kind, before or _EMPTY, after or _EMPTY, found=found)
    elif kind.kind is Kind.LIST:
        _compare_elements(kind, elements(kind, before or ()), elements(kind, after or ()), found=found)
    else:
        _compare_entries(kind, before or _EMPTY, after or _EMPTY, found=found)


def _compare_elements(
    kind: Type, before: Mapping[str, Any], after: Mapping[str, Any], *, found: Comparison
) -> None:
    items = kind.items
    assert items is not None
    for element in after.keys() | before.keys():
        _compare_value(
            items, before.get(element, _ABSENT), after.get(element, _ABSENT), found=found, element=element
        )


def _compare_entries(
    kind: Type, before: Mapping[str, Any], after: Mapping[str, Any], *, found: Comparison
) -> None:
    items = kind.items or kind
    for name in after.keys() | before.keys():
        _compare_value(
            items, before.get(name, _ABSENT), after.get(name, _ABSENT), found=found, element=f"f:{name}"
        )


def all_fields(kind: Type, value: Any, *, atomic: bool = False) -> FieldSet:
    """The fields of a value that did not exist before, the value itself among them."""
    if atomic or not value or is_leaf(kind) or type(value) is Repeated or is_misfit(kind, value):
        return {}
    found: FieldSet = {SELF: {}}
    if kind.kind is Kind.OBJECT:
        leaves = kind.leaves if kind.leaves is not None else _leaves(kind)
        for name, below in value.items():
            leaf = leaves.get(name)
            if leaf is not None:
                found[leaf] = {}
            else:
                prop = kind.properties.get(name)
                found[f"f:{name}"] = {} if prop is None else all_fields(prop.type, below)
        return found
    if kind.kind is Kind.LIST:
        assert kind.items is not None
        for element, below in elements(kind, value).items():
            found[element] = all_fields(kind.items, below)
    elif isinstance(value, dict):
        items = kind.items or kind
        if is_scalar(items):
            found.update((f"f:{name}", {}) for name in value)
        else:
            found.update((f"f:{name}", all_fields(items, below)) for name, below in value.items())
    else:
        return {}
    return found


def _leaves(kind: Type) -> Mapping[str, str]:
    """The properties of which nothing but themselves is ever owned; found once, since most fields are such."""
    kind.leaves = {
        name: f"f:{name}"
        for name, prop in kind.properties.items()
        if prop.map_type == "atomic" or is_scalar(prop.type) or is_leaf(prop.type)
    }
    return kind.leaves
