"""What is wrong with a value, in the original's words (CRD-13), and what of it an update may keep (CRD-15)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from kinepy_server.resources.resource import FieldError
from kinepy_server.resources.strategies.keys import quoted
from kinepy_server.schema.go_text import go_text
from kinepy_server.schema.patterns import matcher
from kinepy_server.schema.structural_check import (
    INT_OR_STRING,
    INTEGER_BOUNDS,
    above_minimum,
    below_maximum,
    bound_for,
    checker,
    is_integral,
    is_multiple,
    same,
)
from kinepy_server.schema.structural_prune import EMBEDDED
from kinepy_server.schema.text_formats import NUMBER_FORMATS, format_check

Schema: TypeAlias = Mapping[str, Any]
NOWHERE = "<nil>"
UNKNOWN: Any = object()
"""Stands for the old value where there is none, or none that corresponds."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is: `field` names it in causes, `text` in messages, which leave out the way to where
    validation began. `old` is what was there before."""

    field: str
    text: str
    old: Any = UNKNOWN

    def member(self, name: str) -> "Place":
        """A member of the object here."""
        old = self.old.get(name, UNKNOWN) if type(self.old) is dict else UNKNOWN
        return Place(_joined(self.field, name), _joined(self.text, name), old)

    def element(self, index: int, old: Any) -> "Place":
        """An element of the list here."""
        return Place(f"{self.field}[{index}]", f"{self.text}[{index}]", old)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


ROOT = Place("", "")


def schema_errors(schema: Schema, value: Any, place: Place = ROOT) -> list[FieldError]:
    """Everything that is wrong with a value. What has not changed since it was old is not looked at."""
    return list(_errors(schema, value, place))


def _errors(schema: Schema, value: Any, place: Place) -> Iterator[FieldError]:
    if place.old is not UNKNOWN and same(place.old, value):
        return
    if value is None:
        if not schema.get("nullable") and (schema.get("type") or schema.get(INT_OR_STRING)):
            yield _of_type(_type_names(schema), "null", place)
        return
    yield from _type_errors(schema, value, place)
    if schema.get("enum") and not any(same(value, one) for one in schema["enum"]):
        yield _unsupported(value, schema["enum"], place)
    match value:
        case str():
            yield from _text_errors(schema, value, place)
        case bool():
            pass
        case int() | float():
            yield from _number_errors(schema, value, place)
        case list():
            yield from _list_errors(schema, value, place)
        case dict():
            yield from _object_errors(schema, value, place)
    yield from _combined_errors(schema, value, place)


def _invalid(place: Place, shown: str, why: str) -> FieldError:
    return FieldError(place.field, "FieldValueInvalid", f"Invalid value: {shown}: {place.text} in body {why}")


def _nowhere(why: str) -> FieldError:
    return FieldError(NOWHERE, "FieldValueInvalid", f'Invalid value: "": {why}')


def _required(place: Place) -> FieldError:
    return FieldError(place.field, "FieldValueRequired", "Required value")


def shown(value: Any) -> str:
    """A value as messages write it."""
    if type(value) is str:
        return quoted(value)
    if type(value) is float:
        return go_text(value)
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


# --- types


def type_name(value: Any) -> str:
    """The JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "integer" if is_integral(value) else "number"


def _type_names(schema: Schema) -> str:
    return "integer,string" if schema.get(INT_OR_STRING) else schema.get("type", "")


def _type_errors(schema: Schema, value: Any, place: Place) -> Iterator[FieldError]:
    wanted, found = _type_names(schema), type_name(value)
    fits = not wanted or found in wanted.split(",") or (found == "integer" and wanted == "number")
    if not fits:
        yield _of_type(wanted, found, place)
    if found in ("integer", "number"):
        yield from _range_errors(schema, value, place)
    text_format = schema.get("format", "")
    if found == "string" and text_format:
        check = format_check(text_format)
        if check is not None and not check(value):
            text = f"Invalid value: {shown(value)}: {place.text} in body must be of type {text_format}: {shown(value)}"
            yield FieldError(place.field, "FieldValueTypeInvalid", text)


def _of_type(wanted: str, found: str, place: Place) -> FieldError:
    text = f'Invalid value: "{found}": {place.text} in body must be of type {wanted}: "{found}"'
    return FieldError(place.field, "FieldValueTypeInvalid", text)


def _range_errors(schema: Schema, value: float, place: Place) -> Iterator[FieldError]:
    wanted, number_format = schema.get("type", ""), schema.get("format", "")
    if wanted not in ("integer", "number"):
        return
    bound = INTEGER_BOUNDS.get(number_format)
    whole = wanted != "integer" or is_integral(value)
    if whole and (bound is None or -bound <= value < bound):
        return
    known = number_format if number_format in NUMBER_FORMATS else ""
    described = f"with format {known}" if known else "(default format)"
    yield _nowhere(f"Checked value must be of type {wanted} {described} in {place.text}")


def _unsupported(value: Any, allowed: Sequence[Any], place: Place) -> FieldError:
    texts = [one if type(one) is str else orjson.dumps(one).decode() for one in allowed]
    supported = ", ".join(map(quoted, texts))
    text = f"Unsupported value: {shown(value)}: supported values: {supported}"
    return FieldError(place.field, "FieldValueNotSupported", text)


# --- scalars


def _text_errors(schema: Schema, value: str, place: Place) -> Iterator[FieldError]:
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    if longest is not None and len(value) > longest:
        text = f"Too long: may not be more than {longest} bytes"
        yield FieldError(place.field, "FieldValueTooLong", text)
    if shortest and len(value) < shortest:
        yield _invalid(place, shown(value), f"should be at least {shortest} chars long")
    pattern = schema.get("pattern")
    if pattern and not matcher(pattern)(value):
        yield _invalid(place, shown(value), f"should match '{pattern}'")


def _number_errors(schema: Schema, value: float, place: Place) -> Iterator[FieldError]:
    factor, high, low = schema.get("multipleOf"), schema.get("maximum"), schema.get("minimum")
    if factor is not None and not is_multiple(value, factor):
        if (used := bound_for(value, factor)) <= 0:
            why = f"factor MultipleOf declared for {place.text} must be positive: {_number(used)}"
            yield FieldError(place.field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {why}")
        else:
            yield _invalid(place, shown(value), f"should be a multiple of {_number(used)}")
    if high is not None:
        exclusive = bool(schema.get("exclusiveMaximum"))
        if not below_maximum(value, high, exclusive=exclusive):
            words = "should be less than" if exclusive else "should be less than or equal to"
            yield _invalid(place, shown(value), f"{words} {_number(bound_for(value, high))}")
    if low is not None:
        exclusive = bool(schema.get("exclusiveMinimum"))
        if not above_minimum(value, low, exclusive=exclusive):
            words = "should be greater than" if exclusive else "should be greater than or equal to"
            yield _invalid(place, shown(value), f"{words} {_number(bound_for(value, low))}")


def _number(value: float) -> str:
    return go_text(float(value)) if type(value) is float else str(value)


# --- lists and objects


def _too_many(place: Place, count: int, most: int) -> FieldError:
    text = f"Too many: {count}: must have at most {most} item{'' if most == 1 else 's'}"
    return FieldError(place.field, "FieldValueTooMany", text)


def _list_errors(schema: Schema, value: list[Any], place: Place) -> Iterator[FieldError]:
    fewest, most = schema.get("minItems"), schema.get("maxItems")
    items = schema.get("items")
    if isinstance(items, Mapping):
        before = _old_elements(schema, place.old)
        for index, member in enumerate(value):
            yield from _errors(items, member, place.element(index, before(member)))
    if fewest and len(value) < fewest:
        yield _invalid(place, str(len(value)), f"should have at least {fewest} items")
    if most is not None and len(value) > most:
        yield _too_many(place, len(value), most)


def _old_elements(schema: Schema, old: Any) -> Callable[[Any], Any]:
    """Finds the old element that corresponds to a new one: only keyed lists have such."""
    if type(old) is not list or schema.get("x-kubernetes-list-type") != "map":
        return lambda member: UNKNOWN
    names = schema.get("x-kubernetes-list-map-keys") or ()
    known = {key_of(one, names): one for one in old if type(one) is dict}
    return lambda member: known.get(key_of(member, names), UNKNOWN) if type(member) is dict else UNKNOWN


def key_of(element: Mapping[str, Any], names: Sequence[str]) -> bytes:
    """The key of an element of a keyed list."""
    return orjson.dumps([element.get(name) for name in names])


def _object_errors(schema: Schema, value: dict[str, Any], place: Place) -> Iterator[FieldError]:
    fewest, most = schema.get("minProperties"), schema.get("maxProperties")
    if fewest and len(value) < fewest:
        yield _invalid(place, str(len(value)), f"should have at least {fewest} properties")
    if most is not None and len(value) > most:
        yield _too_many(place, len(value), most)
    for name in schema.get("required") or ():
        if name not in value:
            yield _required(place.member(name))
    if schema.get(EMBEDDED):
        yield from _embedded_errors(value, place)
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    for name, member in value.items():
        inner = properties.get(name, additional)
        if isinstance(inner, Mapping):
            yield from _errors(inner, member, place.member(name))


def _embedded_errors(value: Mapping[str, Any], place: Place) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        member = value.get(name)
        if not isinstance(member, str):
            if member is None:
                yield _required(place.member(name))
            else:
                yield _of_type("string", type_name(member), place.member(name))
        elif not member:
            yield FieldError(
                place.member(name).field, "FieldValueRequired", "Required value: must not be empty"
            )


# --- combinators


def _combined_errors(schema: Schema, value: Any, place: Place) -> Iterator[FieldError]:
    yield from _all_of(schema, value, place)
    if schema.get("anyOf") and not schema.get(INT_OR_STRING):
        found = [list(_errors(part, value, place)) for part in schema["anyOf"]]
        if all(found):
            yield _nowhere(f'"{place.text}" must validate at least one schema (anyOf)')
            yield from found[0]
    if schema.get("oneOf"):
        found = [list(_errors(part, value, place)) for part in schema["oneOf"]]
        valid = sum(not errors for errors in found)
        if valid != 1:
            how = f"Found {valid} valid alternatives" if valid else "Found none valid"
            yield _nowhere(f'"{place.text}" must validate one and only one schema (oneOf). {how}')
            yield from found[0] if not valid else ()
    if schema.get("not") is not None and checker(schema["not"])(value):
        yield _nowhere(f'"{place.text}" must not validate the schema (not)')


def _all_of(schema: Schema, value: Any, place: Place) -> Iterator[FieldError]:
    parts = schema.get("allOf") or ()
    found = [list(_errors(part, value, place)) for part in parts]
    if any(found):
        none = ". None validated" if all(found) and len(found) > 1 else ""
        yield _nowhere(f'"{place.text}" must validate all the schemas (allOf){none}')
        for errors in found:
            yield from errors
