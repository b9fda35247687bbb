"""Whether a value is valid, as fast as Python can tell (CRD-13). What is wrong is told by `structural_errors`,
which is asked only when something is; the two must agree."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from kinepy_server.schema.patterns import matcher
from kinepy_server.schema.structural_prune import EMBEDDED
from kinepy_server.schema.text_formats import format_check

Schema: TypeAlias = Mapping[str, Any]
Check: TypeAlias = Callable[[Any], bool]

INT_OR_STRING = "x-kubernetes-int-or-string"
INTEGER_BOUNDS = {"int32": 2**31, "int64": 2**63}


def checker(schema: Schema) -> Check:
    """Whether a value obeys a schema."""
    return _check(schema) or (lambda value: True)


def _check(schema: Schema) -> Check | None:
    return None if (member := _member(schema)) is None else member[2]


_Member: TypeAlias = tuple[type | None, Check | None, Check]
"""How a value is checked: the type that it nearly always has, what is left to check when it has, and all there is to
check. Comparing the type, which most often is all, needs no call."""


def _member(schema: Schema) -> _Member | None:
    checks = [*_own_checks(schema), *_combined(schema)]
    if not checks:
        return None
    every = _all(checks)
    # Null is of no type, so where it is not allowed the check of the type refuses it.
    whole = (lambda value: value is None or every(value)) if schema.get("nullable") else every
    kind, rest = _exact(schema), checks[1:]
    if kind is None:
        return None, None, whole
    return kind, _all(rest) if rest else None, whole


def _all(checks: Sequence[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)

    def whole(value: Any) -> bool:
        # A loop, since `all` over a generator costs twice as much here.
        for check in checks:  # noqa: SIM110
            if not check(value):
                return False
        return True

    return whole


def _own_checks(schema: Schema) -> list[Check]:
    """The check of the type, if there is one, before all others."""
    checks = [] if (typed := _type_check(schema)) is None else [typed]
    for of, conditions in (
        (str, _text_checks(schema)),
        (list, _list_checks(schema)),
        (dict, _object_checks(schema)),
    ):
        if conditions:
            checks.append(
                _when(of, _all(conditions), sure=typed is not None and _SURE.get(of) == schema.get("type"))
            )
    numbers = _number_checks(schema)
    if numbers:
        sure = typed is not None and _exact(schema) in _NUMBERS
        checks.append(_all(numbers) if sure else _when_number(_all(numbers)))
    if schema.get("enum"):
        checks.append(_enum(schema["enum"]))
    return checks


_SURE = {str: "string", list: "array", dict: "object"}
_EXACT: Mapping[str, type] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict,
}  # fmt: skip
_NUMBERS = (int, float)


def _exact(schema: Schema) -> type | None:
    """The Python type that nearly all valid values have, if there is one."""
    return None if schema.get(INT_OR_STRING) else _EXACT.get(schema.get("type", ""))


def _when(of: type, check: Check, *, sure: bool) -> Check:
    """A condition that holds for values of other types; `sure`: there are none, since the type was checked."""
    return check if sure else lambda value: type(value) is not of or check(value)


def _when_number(check: Check) -> Check:
    return lambda value: (type(value) is not int and type(value) is not float) or check(value)


def is_integral(value: Any) -> bool:
    """Whether a number counts as an integer: `1.0` does."""
    return type(value) is int or (type(value) is float and value.is_integer())


def _type_check(schema: Schema) -> Check | None:
    if schema.get(INT_OR_STRING):
        return lambda value: type(value) is str or is_integral(value)
    match schema.get("type"):
        case "string":
            return lambda value: type(value) is str
        case "integer":
            return lambda value: type(value) is int or is_integral(value)
        case "number":
            return lambda value: type(value) is int or type(value) is float
        case "boolean":
            return lambda value: type(value) is bool
        case "array":
            return lambda value: type(value) is list
        case "object":
            return lambda value: type(value) is dict
        case _:
            return None


def _text_checks(schema: Schema) -> list[Check]:
    checks: list[Check] = []
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if longest is not None:
        checks.append(lambda value: len(value) <= longest)
    if shortest:
        checks.append(lambda value: len(value) >= shortest)
    if schema.get("pattern"):
        checks.append(matcher(schema["pattern"]))
    fits = format_check(schema["format"]) if schema.get("format") else None
    if fits is not None:
        checks.append(fits)
    return checks


def _number_checks(schema: Schema) -> list[Check]:
    checks: list[Check] = []
    low, high, factor = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    if low is not None:
        checks.append(_bounded(low, operator.gt if schema.get("exclusiveMinimum") else operator.ge))
    if high is not None:
        checks.append(_bounded(high, operator.lt if schema.get("exclusiveMaximum") else operator.le))
    if factor is not None:
        checks.append(lambda value: is_multiple(value, factor))
    bound = INTEGER_BOUNDS.get(schema.get("format", ""))
    if bound is not None and schema.get("type") in ("integer", "number"):
        checks.append(lambda value: -bound <= value < bound)
    return checks


def _bounded(bound: float, holds: Callable[[float, float], bool]) -> Check:
    """`above_minimum` and `below_maximum` in one call."""
    whole = bound_for(0, bound)
    return lambda value: holds(value, whole if type(value) is int else bound)


def bound_for(value: float, bound: float) -> float:
    """As in the original an integer is compared with the bound's whole part."""
    return int(bound) if type(value) is int else bound


def above_minimum(value: float, bound: float, *, exclusive: bool) -> bool:
    """Whether a number is as large as it must be."""
    low = bound_for(value, bound)
    return value > low if exclusive else value >= low


def below_maximum(value: float, bound: float, *, exclusive: bool) -> bool:
    """Whether a number is as small as it must be."""
    high = bound_for(value, bound)
    return value < high if exclusive else value <= high


def is_multiple(value: float, factor: float) -> bool:
    """Whether a number is a multiple; as in the original no integer is one of a factor below 1."""
    if type(value) is int:
        whole = int(factor)
        return whole > 0 and value % whole == 0
    return factor > 0 and (value / factor).is_integer()


def _list_checks(schema: Schema) -> list[Check]:
    checks: list[Check] = []
    fewest, most = schema.get("minItems"), schema.get("maxItems")
    if most is not None:
        checks.append(lambda value: len(value) <= most)
    if fewest:
        checks.append(lambda value: len(value) >= fewest)
    items = schema.get("items")
    member = _member(items) if isinstance(items, Mapping) else None
    if member is not None:
        kind, rest, element = member
        if kind is not None and rest is None:
            only = frozenset((kind,))
            checks.append(lambda value: only.issuperset(map(type, value)) or all(map(element, value)))
        else:
            checks.append(lambda value: all(map(element, value)))
    return checks


def _object_checks(schema: Schema) -> list[Check]:
    checks: list[Check] = []
    fewest, most = schema.get("minProperties"), schema.get("maxProperties")
    if most is not None:
        checks.append(lambda value: len(value) <= most)
    if fewest:
        checks.append(lambda value: len(value) >= fewest)
    required = frozenset(schema.get("required") or ())
    if schema.get(EMBEDDED):
        required |= {"apiVersion", "kind"}
    if required:
        checks.append(required.issubset)
    members = _members(schema)
    return [*checks, members] if members is not None else checks


def _members(schema: Schema) -> Check | None:
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    known = {name: found for name, inner in properties.items() if (found := _member(inner)) is not None}
    if schema.get(EMBEDDED):
        known["apiVersion"] = known["kind"] = None, None, _set_text
    additional = schema.get("additionalProperties")
    rest = _check(additional) if isinstance(additional, Mapping) else None
    if rest is not None:
        named = {name: check for name, (_, _, check) in known.items()}
        return lambda value: all(named.get(name, rest)(member) for name, member in value.items())
    if not known:
        return None
    find = known.get

    def members(value: dict[str, Any]) -> bool:
        for name, member in value.items():
            found = find(name)
            if found is None:
                continue
            kind, rest, whole = found
            if type(member) is kind:
                if rest is not None and not rest(member):
                    return False
            elif not whole(member):
                return False
        return True

    return members


def _set_text(value: Any) -> bool:
    return type(value) is str and bool(value)


def _enum(allowed: Sequence[Any]) -> Check:
    if all(type(value) is str for value in allowed):
        texts = frozenset(allowed)
        return lambda value: type(value) is str and value in texts
    return lambda value: any(same(value, one) for one in allowed)


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: true is not 1."""
    if type(left) is bool or type(right) is bool:
        return left is right
    if type(left) is dict and type(right) is dict:
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if type(left) is list and type(right) is list:
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def _combined(schema: Schema) -> list[Check]:
    checks: list[Check] = []
    every = [checker(part) for part in schema.get("allOf") or ()]
    if every:
        checks.append(lambda value: all(check(value) for check in every))
    some = [checker(part) for part in schema.get("anyOf") or ()]
    if some and not schema.get(INT_OR_STRING):
        checks.append(lambda value: any(check(value) for check in some))
    one = [checker(part) for part in schema.get("oneOf") or ()]
    if one:
        checks.append(lambda value: sum(check(value) for check in one) == 1)
    if schema.get("not") is not None:
        excluded = checker(schema["not"])
        checks.append(lambda value: not excluded(value))
    return checks
