"""The mutations of a policy: an expression, and how what it evaluates to changes an object."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import orjson

from kinepy_server.apply.elements import is_leaf, is_scalar
from kinepy_server.apply.merge import merge
from kinepy_server.apply.typed import NotTyped, check_typed
from kinepy_server.cel import EvaluationError
from kinepy_server.cel.made_json import as_json, misnamed
from kinepy_server.cel.objects import MadeObject
from kinepy_server.cel.terms import Terms
from kinepy_server.dynamic_admission.expressions import Expression, Failed, Run, compiled
from kinepy_server.patch.json_patch import PatchFailed, TestFailed, apply_json_patch
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.types import Kind, Type


class Mutation(Protocol):
    """One mutation. Evaluating it may take long and happen elsewhere; applying it does not."""

    def evaluate(self, run: Run) -> Any:
        """What is to be changed. Raises Failed, Unfinished."""
        ...

    def applied(self, change: Any, obj: JsonObject, kind: Type) -> Any:
        """An object of a type with the change in it, to be decoded; None if it stays as it is. Raises Failed.

        `obj` is not changed, and nothing is shared with it.
        """
        ...


def mutation_of(spec: Mapping[str, Any], terms: Terms) -> Mutation:
    """The mutation of a policy's spec."""
    makes = partial(terms.compile, makes=True)
    if spec.get("patchType") == "JSONPatch":
        text = (spec.get("jsonPatch") or {}).get("expression", "")
        return _JsonPatch(compiled(text, makes, wanted="list(JSONPatch)"))
    text = (spec.get("applyConfiguration") or {}).get("expression", "")
    return _ApplyConfiguration(compiled(text, makes, wanted="Object"))


@dataclass(frozen=True, slots=True)
class _JsonPatch:
    """Operations that are applied one after the other."""

    expression: Expression

    def evaluate(self, run: Run) -> Any:
        operations = []
        for made in _value(run, self.expression):
            operation = {name: made[name] for name in ("op", "path", "from") if name in made}
            if "value" in made:
                operation["value"] = _operand(made["value"])
            operations.append(operation)
        return operations

    def applied(self, change: Any, obj: JsonObject, kind: Type) -> Any:
        try:
            return apply_json_patch(_copy(obj), change)
        except TestFailed:
            return None
        except PatchFailed as error:
            raise Failed(f"JSONPath: {error}") from None


@dataclass(frozen=True, slots=True)
class _ApplyConfiguration:
    """Fields that are merged into the object by the list and map types of its schema."""

    expression: Expression

    def evaluate(self, run: Run) -> Any:
        made = _value(run, self.expression)
        _check_names(made)
        try:
            return as_json(made)
        except EvaluationError as error:
            raise Failed(f"invalid return type: {error}") from None

    def applied(self, change: Any, obj: JsonObject, kind: Type) -> Any:
        config = {**change, "apiVersion": obj["apiVersion"], "kind": obj["kind"]}
        try:
            check_typed(kind, config)
        except NotTyped as error:
            text = f"failed to convert patch object to typed object: {error}"
            raise Failed(f"error applying patch: {text}") from None
        atomic = ", ".join(_atomic(kind, config, ""))
        if atomic:
            text = f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {atomic}"
            raise Failed(f"error applying patch: {text}")
        return merge(kind, _copy(obj), config)


def _value(run: Run, expression: Expression) -> Any:
    if expression.program is None:
        raise Failed(expression.problem)
    return run.value(expression)


def _operand(value: Any) -> Any:
    """The value of an operation as JSON."""
    _check_names(value)
    try:
        return as_json(value)
    except EvaluationError as error:
        text = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
        raise Failed(f"{text}: {error}") from None


def _check_names(value: Any) -> None:
    problem = misnamed(value) if isinstance(value, MadeObject) else ""
    if problem:
        raise Failed(f"type mismatch: {problem}")


def _copy(obj: JsonObject) -> JsonObject:
    found: JsonObject = orjson.loads(orjson.dumps(obj))
    return found


def _atomic(kind: Type, value: Any, path: str, *, atomic: bool = False) -> Iterator[str]:
    """The places at which a value sets what can only be set as a whole."""
    if isinstance(value, dict) and not is_scalar(kind):
        if (atomic or is_leaf(kind)) and kind.kind is not Kind.LIST:
            yield path
        for name, member in value.items():
            prop = kind.properties.get(name)
            if prop is not None:
                below = prop.map_type == "atomic"
                yield from _atomic(prop.type, member, f"{path}.{name}", atomic=below)
    elif isinstance(value, list) and kind.kind in (Kind.LIST, Kind.ANY):
        if kind.kind is Kind.ANY or is_leaf(kind):
            yield path
        for index, member in enumerate(value):
            if kind.items is not None:
                yield from _atomic(kind.items, member, f"{path}[{index}]")
