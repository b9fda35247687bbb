"""Random objects of any schema, as the server keeps them."""

from typing import Any

from hypothesis import strategies as st

from kinepy_server.schema.compile import decoder_of
from kinepy_server.schema.types import Kind, Type

DEPTH_MAX = 12
TEXTS = st.text(max_size=8)
TIMES = st.sampled_from(["2026-01-02T03:04:05Z", "1970-01-01T00:00:00Z", "0999-12-31T23:59:59Z"])
MICRO_TIMES = st.sampled_from(["2026-01-02T03:04:05.000001Z", "1969-12-31T23:59:59.999999Z"])
JSON = st.recursive(
    st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
SCALARS: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.STRING: TEXTS,
    Kind.BYTES: st.sampled_from(["", "AA==", "a2luZXB5"]),
    Kind.NUMBER: st.floats(allow_nan=False, allow_infinity=False),
    Kind.BOOLEAN: st.booleans(),
    Kind.TIME: TIMES,
    Kind.MICRO_TIME: MICRO_TIMES,
    Kind.ANY: st.dictionaries(TEXTS, JSON, max_size=2),
    Kind.INT_OR_STRING: st.integers(-(2**31), 2**31 - 1) | TEXTS,
    Kind.QUANTITY: st.sampled_from(["0", "1Gi", "500m"]),
}
SCHEMA = st.sampled_from([{"type": "string"}, {"properties": {"a": {"minimum": 1.0}}}])
NAMED: dict[str, st.SearchStrategy[Any]] = {
    "apiextensions.v1.JSONSchemaPropsOrArray": SCHEMA | st.lists(SCHEMA, min_size=1, max_size=2),
    "apiextensions.v1.JSONSchemaPropsOrBool": SCHEMA | st.booleans(),
    "apiextensions.v1.JSONSchemaPropsOrStringArray": SCHEMA | st.lists(TEXTS, min_size=1, max_size=2),
}
"""Types that no schema describes."""


def values_of(of: Type, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a type, not yet decoded."""
    match of.kind:
        case Kind.INTEGER:
            bound = 2**31 if of.format == "int32" else 2**63
            return st.integers(-bound, bound - 1)
        case Kind.LIST:
            assert of.items is not None
            return st.lists(values_of(of.items, depth + 1), max_size=2)
        case Kind.MAP:
            assert of.items is not None
            return st.dictionaries(TEXTS, values_of(of.items, depth + 1), max_size=2)
        case Kind.OBJECT:
            return _objects(of, depth)
        case kind:
            return NAMED[of.name] if of.name in NAMED else SCALARS[kind]


@st.composite
def _objects(draw: st.DrawFn, of: Type, depth: int) -> Any:
    names = sorted(name for name in of.properties if name not in ("apiVersion", "kind"))
    if depth > DEPTH_MAX or not names:
        return {}
    chosen = draw(st.sets(st.sampled_from(names), max_size=4 if depth else 6))
    return {name: draw(values_of(of.properties[name].type, depth + 1)) for name in sorted(chosen)}


def decoded(of: Type, value: Any) -> Any:
    """A value as the server keeps it; `value` may be changed."""
    return decoder_of(of)(value, None, [])
