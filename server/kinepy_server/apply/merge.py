"""Merging an applied configuration into an object."""

from typing import Any

from kinepy_server.apply.elements import Repeated, elements, is_leaf, is_misfit, place_of
from kinepy_server.schema.types import Kind, Type


def merge(kind: Type, live: Any, applied: Any, *, atomic: bool = False) -> Any:
    """What comes of a value when a configuration of it is applied. Changes neither; the result shares parts."""
    if atomic or is_leaf(kind) or not (live or applied) or is_misfit(kind, live):
        return applied
    if kind.kind is Kind.LIST:
        return _merge_elements(kind, live or [], applied or [])
    if kind.kind is Kind.ANY and not (isinstance(live, dict) and isinstance(applied, dict)):
        return applied
    return _merge_members(kind, live or {}, applied or {})


def _merge_members(kind: Type, live: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    merged = dict(live)
    for name, value in applied.items():
        if name not in live:
            merged[name] = value
            continue
        prop = kind.properties.get(name)
        if prop is not None:
            merged[name] = merge(prop.type, live[name], value, atomic=prop.map_type == "atomic")
        else:
            merged[name] = merge(kind.items or kind, live[name], value)
    return merged


def _merge_elements(kind: Type, live: list[Any], applied: list[Any]) -> list[Any]:
    """Applied elements stand in their order. One that only the object has keeps its place before the next element
    of both that follows in the right order; otherwise it comes before what is new."""
    assert kind.items is not None
    known, new = elements(kind, live), elements(kind, applied)
    arriving = list(new)
    shared = (element for element in arriving if element in known)
    expected = next(shared, None)
    merged: list[Any] = []
    arrived = 0
    for value in live:
        element = place_of(kind, value)
        if element not in new:
            merged.append(value)
        elif element == expected:
            expected = next(shared, None)
            until = arriving.index(element, arrived) + 1
            merged += (_merged(kind.items, known, new, element=name) for name in arriving[arrived:until])
            arrived = until
    merged += (_merged(kind.items, known, new, element=name) for name in arriving[arrived:])
    return merged


def _merged(items: Type, known: dict[str, Any], new: dict[str, Any], *, element: str) -> Any:
    live = known.get(element)
    if live is None or type(live) is Repeated:
        return new[element]
    return merge(items, live, new[element])
