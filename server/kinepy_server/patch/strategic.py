"""Strategic merge patch (PATCH-8): a merge patch that knows lists.

What the schema says of a field (patchMergeKey, patchStrategy) and directives in the patch decide:

- `$patch: replace | delete | merge` in a map or in an element of a list;
- `$retainKeys`: the only members that may stay in a map;
- `$setElementOrder/FIELD`: how a list is to be ordered;
- `$deleteFromPrimitiveList/FIELD`: what a list of scalars is to lose.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from kinepy_server.patch.strategic_errors import (
    PatchRefused,
    bad_directive,
    bad_order,
    bad_order_format,
    bad_primitive_list,
    bad_retain_keys,
    bad_type,
    unknown_field,
)
from kinepy_server.patch.strategic_lists import Identity, are_maps, in_order, merge_scalars, without
from kinepy_server.schema.types import Kind, Type

DIRECTIVE = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder"
DELETE = "$deleteFromPrimitiveList"

JsonMap = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """What is known of a member: its type (None: nothing), merge key, and whether it is merged or replaced."""

    type: Type | None
    key: str = ""
    strategy: str = ""


def strategic_merge(of: Type, original: JsonMap, patch: JsonMap) -> JsonMap:
    """`original`, changed in place, with a patch that stays as it is. Raises PatchRefused."""
    return _merge_map(of, original, patch)


def _merge_map(of: Type | None, original: JsonMap, patch: JsonMap) -> JsonMap:
    directive = patch.get(DIRECTIVE)
    if DIRECTIVE in patch:
        if directive == "replace":
            return {name: _copied(value) for name, value in patch.items() if name != DIRECTIVE}
        if directive == "delete":
            return {}
        raise bad_directive(directive, patch)
    if RETAIN in patch:
        _retain(original, patch)
    ordered = _apply_orders(of, original, patch)
    for name, value in patch.items():
        if name in ordered or name == RETAIN or name.startswith(ORDER):
            continue
        if name.startswith(DELETE):
            _delete_scalars(original, _listed(name, DELETE), value)
        elif value is None:
            original.pop(name, None)
        else:
            _merge_member(of, original, name=name, value=value)
    return original


def _merge_member(of: Type | None, original: JsonMap, *, name: str, value: Any) -> None:
    current = original.get(name)
    if type(current) is not type(value):
        _put_new(original, name, value)
    elif isinstance(value, dict):
        field = _field(of, name)
        if field.strategy == "replace":
            original[name] = _copied(value)
        else:
            original[name] = _merge_map(field.type, current, value)  # type: ignore[arg-type]
    elif isinstance(value, list):
        original[name] = _merge_list(_field(of, name), current, value)  # type: ignore[arg-type]
    else:
        original[name] = value


def _put_new(original: JsonMap, name: str, value: Any) -> None:
    """A value where none of its kind was: directives in it have nothing to act on and vanish."""
    if isinstance(value, dict) and DIRECTIVE in value:
        original.pop(name, None)
    else:
        original[name] = _without_directives(value)


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_directives(member)
            for name, member in value.items()
            if member is not None and not (isinstance(member, dict) and DIRECTIVE in member)
        }
    if isinstance(value, list):
        return [
            _without_directives(member)
            for member in value
            if not (isinstance(member, dict) and DIRECTIVE in member)
        ]
    return value


def _merge_list(field: Field, original: list[Any], patch: list[Any]) -> list[Any]:
    if field.strategy != "merge":
        return _copied(patch)  # type: ignore[no-any-return]
    maps = are_maps(original, patch)
    if maps is None:
        return original
    if not maps:
        return in_order(merge_scalars(original, patch), Identity(), first=patch, live=original)
    if not field.key:
        raise PatchRefused(f"cannot merge lists without merge key for {_type_name(field.type)}")
    identity = Identity(field.key)
    live, news = _apply_elements(original, patch, identity=identity)
    merged, places = list(live), _places_with_key(live, identity)
    for new in news:
        at = places.setdefault(identity.of(new), len(merged))
        if at == len(merged):
            merged.append(_copied(new))
        else:
            merged[at] = _merge_map(field.type, merged[at], new)
    return in_order(merged, identity, first=news, live=live)


def _places_with_key(elements: list[Any], identity: Identity) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    for at, element in enumerate(elements):
        if identity.key in element:
            found.setdefault(identity.of(element), at)
    return found


def _apply_elements(
    original: list[Any], patch: list[Any], *, identity: Identity
) -> tuple[list[Any], list[Any]]:
    """What directives in a list leave of the list and of the patch."""
    news, deleted, replaces = [], [], False
    for element in patch:
        if DIRECTIVE not in element:
            news.append(element)
            continue
        directive = element[DIRECTIVE]
        if directive == "delete":
            deleted.append(element)
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise PatchRefused("merging lists cannot yet be specified in the patch")
        else:
            raise bad_directive(directive, element)
    live = without(original, deleted, identity=identity) if deleted else original
    return (_copied(news), []) if replaces else (live, news)


def _retain(original: JsonMap, patch: JsonMap) -> None:
    retained = patch[RETAIN]
    if not isinstance(retained, list):
        raise bad_retain_keys()
    for name, value in patch.items():
        if name == RETAIN or value is None or name.startswith((DELETE, ORDER)):
            continue
        if name not in retained:
            raise bad_retain_keys()
    for name in [name for name in original if name not in retained]:
        del original[name]


def _apply_orders(of: Type | None, original: JsonMap, patch: JsonMap) -> set[str]:
    """Merge and order the lists that the patch orders; returns their names."""
    done = set()
    for directive, order in patch.items():
        if not directive.startswith(ORDER):
            continue
        if not isinstance(order, list):
            raise bad_type([], order)
        name = _listed(directive, ORDER)
        current, new = original.get(name), patch.get(name)
        for value, there in ((current, name in original), (new, name in patch)):
            if there and not isinstance(value, list):
                raise bad_type([], value)
        field = _field(of, name)
        _check_order(new or [], order, identity=Identity(field.key))
        if name in original or name in patch:
            original[name] = _ordered(field, current, new, order=order)
            done.add(name)
    return done


def _ordered(
    field: Field, current: list[Any] | None, new: list[Any] | None, *, order: list[Any]
) -> list[Any]:
    if are_maps(current or [], new or []) is None:
        raise PatchRefused("no elements in any of the given slices")
    live = list(current or [])
    if new is None:
        merged = live
    elif current is None:
        merged = _without_directives(new)
    else:
        merged = _merge_list(field, current, new)
    return in_order(merged, Identity(field.key), first=order, live=live)


def _check_order(new: list[Any], order: list[Any], *, identity: Identity) -> None:
    """The patch's elements must stand in the order that it asks for."""
    if not new or not order:
        return
    wanted = iter(order)
    for element in new:
        if isinstance(element, dict) and DIRECTIVE in element:
            continue
        value = identity.of(element)
        if not any(identity.of(one) == value for one in wanted):
            raise bad_order(new, order)


def _delete_scalars(original: JsonMap, name: str, value: Any) -> None:
    current = original.get(name)
    if value is None:
        original.pop(name, None)
    elif isinstance(current, list) and isinstance(value, list):
        original[name] = without(current, value, identity=Identity())


def _listed(directive: str, prefix: str) -> str:
    """The field that a directive such as `$setElementOrder/env` is about."""
    before, slash, name = directive.partition("/")
    if not slash or before != prefix:
        raise bad_primitive_list() if prefix == DELETE else bad_order_format()
    return name


def _field(of: Type | None, name: str) -> Field:
    if of is None or of.kind is Kind.ANY:
        return Field(None)
    if of.kind is not Kind.OBJECT:
        return Field(of.items)
    prop = of.properties.get(name)
    if prop is None:
        raise unknown_field(_type_name(of), name)
    strategies: Sequence[str] = prop.patch_strategy.split(",")
    strategy = next((one for one in strategies if one != "retainKeys"), "")
    below = prop.type.items if prop.type.kind is Kind.LIST else prop.type
    return Field(below, prop.patch_merge_key, strategy)


def _type_name(of: Type | None) -> str:
    return of.name.rpartition(".")[2] if of is not None else ""


def _copied(value: Any) -> Any:
    # The patch may be applied again to a newer state, so results must not share parts with it.
    if isinstance(value, dict):
        return {name: _copied(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_copied(member) for member in value]
    return value
