"""Random schemas, and random values of them."""

from typing import Any

from hypothesis import strategies as st

from kinepy_server.apply.versions import Version
from kinepy_server.schema.types import Kind, Property, Type

TEXT = Type(Kind.STRING, "string")
METADATA = Type(Kind.OBJECT, "v1.ObjectMeta")
NAMES = ("a", "b", "c")
KEY = "key"


def prop(name: str, of: Type, *, atomic: bool = False) -> Property:
    """A property that is a pointer: it comes and goes as it is set."""
    return Property(
        name, of, pointer=True, omit_empty=True, omit_zero=False, map_type="atomic" if atomic else "granular"
    )


def object_of(properties: dict[str, Type], *, map_type: str = "granular") -> Type:
    """An object type."""
    made = {name: prop(name, of) for name, of in properties.items()}
    return Type(Kind.OBJECT, "v1.Thing", "v1.Thing", properties=made, map_type=map_type)


def map_of(items: Type, *, map_type: str = "granular") -> Type:
    """A map type."""
    return Type(Kind.MAP, "map", items=items, map_type=map_type)


def set_of_texts() -> Type:
    """A list that is a set."""
    return Type(Kind.LIST, "list", items=TEXT, list_type="set")


def keyed(properties: dict[str, Type]) -> Type:
    """A list whose elements are told apart by the member `key`."""
    items = object_of({KEY: TEXT, **properties})
    return Type(Kind.LIST, "list", items=items, list_type="map", list_map_keys=(KEY,))


def atomic_list() -> Type:
    """A list that is owned as a whole."""
    return Type(Kind.LIST, "list", items=TEXT)


def _members(below: st.SearchStrategy[Type]) -> st.SearchStrategy[dict[str, Type]]:
    return st.dictionaries(st.sampled_from(NAMES), below, min_size=1, max_size=3)


LEAVES = st.one_of(
    st.just(TEXT),
    st.just(atomic_list()),
    st.just(map_of(TEXT, map_type="atomic")),
    st.just(set_of_texts()),
    st.just(map_of(TEXT)),
)
TYPES = st.recursive(
    LEAVES,
    lambda below: st.one_of(_members(below).map(object_of), _members(below).map(keyed), below.map(map_of)),
    max_leaves=6,
)
ROOTS = _members(TYPES).map(lambda members: object_of({"metadata": METADATA, **members}))

_TEXTS = st.sampled_from(("x", "y"))


def values(of: Type) -> st.SearchStrategy[Any]:
    """Values of a type. Lists have elements, and keyed ones keys."""
    match of.kind:
        case Kind.OBJECT:
            members = {name: values(one.type) for name, one in of.properties.items()}
            needed = {KEY: members.pop(KEY)} if KEY in members else {}
            return st.fixed_dictionaries(needed, optional=members)
        case Kind.MAP:
            assert of.items is not None
            return st.dictionaries(st.sampled_from(NAMES), values(of.items), max_size=2)
        case Kind.LIST:
            assert of.items is not None
            unique = (lambda element: element[KEY]) if of.list_map_keys else None
            unique = (lambda element: element) if of.list_type == "set" else unique
            return st.lists(values(of.items), min_size=1, max_size=2, unique_by=unique)
        case _:
            return _TEXTS


def objects(root: Type) -> st.SearchStrategy[Any]:
    """Values of a root type, with metadata that holds nothing."""
    return values(root).map(lambda value: {**value, "metadata": {}})


class OneVersion:
    """A type that is served in one version."""

    def __init__(self, of: Type) -> None:
        self.type, self.api_version, self.fixed = of, "v1", False
        self.empty: dict[str, Any] = {"metadata": {}}

    def find(self, api_version: str) -> Version | None:
        return Version(self.type) if api_version == self.api_version else None
