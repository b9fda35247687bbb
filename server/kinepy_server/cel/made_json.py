"""What expressions evaluate to, as JSON."""

import base64
import math
from typing import Any

from kinepy_server.cel.errors import EvaluationError
from kinepy_server.cel.objects import MadeObject
from kinepy_server.cel.values import Duration, Optional, Timestamp, UInt, name_of
from kinepy_server.schema.go_json import TOO_DEEP, too_deep

_NOT_FINITE = {math.inf: "+Inf", -math.inf: "-Inf"}


def as_json(value: Any) -> Any:
    """A value as JSON of its own, which shares nothing with it. Raises EvaluationError for what JSON does not have,
    and for what is nested deeper than anything that is accepted."""
    if isinstance(value, (dict, list)) and too_deep(value):
        raise EvaluationError(TOO_DEEP)
    return _json(value)


def _json(value: Any) -> Any:
    kind = type(value)
    if kind is float and not math.isfinite(value):
        raise EvaluationError(f"json: unsupported value: {_NOT_FINITE.get(value, 'NaN')}")
    if value is None or kind in (bool, int, float, str):
        return value
    if isinstance(value, dict):
        return _object(value)
    if isinstance(value, list):
        return [_json(item) for item in value]
    if kind is Optional:
        return _json(value.value) if value.present else None
    if kind is UInt:
        return int(value)
    if kind is Duration or kind is Timestamp:
        return str(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    raise EvaluationError(f"unsupported type: {name_of(value)}")


def _object(value: dict[Any, Any]) -> dict[str, Any]:
    found = {}
    for key, member in value.items():
        if type(key) is not str:
            raise EvaluationError(f'map key "{key}" is of type {name_of(key)}, not string')
        found[key] = _json(member)
    return found


def misnamed(value: MadeObject) -> str:
    """Which types of objects inside an object are not named for their place, a line for each; empty for none."""
    return "\n".join(_misnamed(value, value.type_name))


def _misnamed(value: Any, expected: str) -> list[str]:
    if isinstance(value, MadeObject):
        problems = [] if value.type_name == expected else [_unexpected(value.type_name, expected)]
        for name, member in value.items():
            problems += _misnamed(member, f"{expected}.{name}")
        return problems
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [problem for member in inside for problem in _misnamed(member, expected)]


def _unexpected(found: str, expected: str) -> str:
    return (
        f'unexpected type name "{found}", expected "{expected}",'
        " which matches field name path from root Object type"
    )
