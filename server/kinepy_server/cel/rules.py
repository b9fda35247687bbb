"""The validation rules of a structural schema (`x-kubernetes-validations`) over its objects."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kinepy_server.cel.errors import CostExceeded, EvaluationError
from kinepy_server.cel.off_loop import AtOnce, Unfinished
from kinepy_server.cel.operators import equal
from kinepy_server.cel.program import CALL_COST_MAX
from kinepy_server.cel.rule import (
    ABSENT,
    Rule,
    budget_failure,
    compile_failure,
    evaluation_failure,
    failure,
    usable_rule,
)
from kinepy_server.cel.schema_types import Schema, type_of_schema
from kinepy_server.cel.types import Type
from kinepy_server.resources.resource import FieldError, JsonObject

RULES = "x-kubernetes-validations"
OBJECT_COST_MAX = 10_000_000
"""What all rules of one object may cost together."""


@dataclass(slots=True)
class _Place:
    """A place in the schema that has rules, or has some below."""

    kind: Type | None
    schema_type: str
    rules: Sequence[Rule | str] = ()
    properties: "Mapping[str, _Place]" = field(default_factory=dict)
    items: "_Place | None" = None
    values: "_Place | None" = None
    list_keys: Sequence[str] | None = None

    @property
    def is_used(self) -> bool:
        """Whether there is any rule here or below."""
        return bool(self.rules or self.properties or self.items or self.values)


class Rules:
    """The compiled rules of a schema; false when it has none."""

    def __init__(self, root: _Place) -> None:
        self._root = root if root.is_used else None

    def __bool__(self) -> bool:
        return self._root is not None

    def validate(
        self, obj: JsonObject, old: JsonObject | None = None, *, at_once: AtOnce | None = None
    ) -> list[FieldError]:
        """What the rules say of an object which fits the schema, and which was made of `old`.

        A rule that fails for a value which has not changed is an error only if it is about the change itself; else its
        failure has no reason. Raises
        Unfinished if they cost more than may be spent `at_once`.
        """
        if self._root is None:
            return []
        run = _Run(math.inf if at_once is None else at_once.left)
        try:
            run.visit(self._root, obj, ABSENT if old is None else old, path="", kept=(obj, old))
        except _Exhausted:
            pass
        return run.errors


def compiled_rules(schema: Schema) -> Rules:
    """Compile the rules of the structural schema of a whole object."""
    return Rules(_place(schema, root=True))


def part_rules(schema: Schema) -> Rules:
    """Compile the rules of a part of such a schema."""
    return Rules(_place(schema))


def _place(schema: Schema, *, root: bool = False) -> _Place:
    embedded = root or bool(schema.get("x-kubernetes-embedded-resource"))
    raw = schema.get(RULES) or ()
    kind = type_of_schema(schema, root=embedded) if raw else None
    rules = [usable_rule(rule, schema, kind) for rule in raw] if kind is not None else []
    place = _Place(kind, schema.get("type", "object" if root else ""), rules)
    below = {name: _place(member) for name, member in sorted((schema.get("properties") or {}).items())}
    place.properties = {name: member for name, member in below.items() if member.is_used}
    place.items = _used(schema.get("items"))
    place.values = _used(schema.get("additionalProperties"))
    if schema.get("x-kubernetes-list-type") == "map":
        place.list_keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    return place


def _used(schema: Any) -> _Place | None:
    if not isinstance(schema, Mapping):
        return None
    place = _place(schema)
    return place if place.is_used else None


class _Exhausted(Exception):
    """No further rules are to be run."""


class _Run:
    """One validation of one object."""

    def __init__(self, at_once: float) -> None:
        self.errors: list[FieldError] = []
        self._left: float = OBJECT_COST_MAX
        self._at_once = at_once

    def visit(self, place: _Place, value: Any, old: Any, *, path: str, kept: tuple[Any, Any]) -> None:
        """The rules of a place and of all places below. `kept` are the nearest values, new and old, that correspond
        to each other, for places in lists whose elements do not."""
        if value is None:
            return
        if old is not ABSENT:
            kept = value, old
        if place.rules:
            self._check(place, value, old, path=path, kept=kept)
        if isinstance(value, dict):
            for name, member, below in _members(place, value):
                was = old.get(name, ABSENT) if isinstance(old, dict) else ABSENT
                shown = f"{path}.{name}" if name in place.properties else f"{path}[{name}]"
                self.visit(below, member, was, path=shown, kept=kept)
        elif isinstance(value, list) and place.items is not None:
            earlier = _earlier(place.list_keys, value, old)
            for index, item in enumerate(value):
                was = earlier(index, item)
                self.visit(place.items, item, was, path=f"{path}[{index}]", kept=kept)

    def _check(self, place: _Place, value: Any, old: Any, *, path: str, kept: tuple[Any, Any]) -> None:
        adapt = None if place.kind is None else place.kind.adapt
        seen, before = value, old
        try:
            if adapt is not None:
                seen = adapt(value)
                before = old if old is ABSENT or old is None else adapt(old)
        except EvaluationError as unfit:
            if not equal(*kept):
                self.errors.append(compile_failure(path, place.schema_type, str(unfit)))
            return
        for rule in place.rules:
            error = self._failure(rule, place, path=path, seen=(value, seen, before))
            if error is None:
                continue
            transition = isinstance(rule, Rule) and rule.is_transition
            if not transition and equal(*kept):
                error = replace(error, reason="")
            self.errors.append(error)

    def _failure(
        self, rule: Rule | str, place: _Place, *, path: str, seen: tuple[Any, Any, Any]
    ) -> FieldError | None:
        if isinstance(rule, str):
            return compile_failure(path, place.schema_type, rule)
        raw, value, old = seen
        if not rule.applies(old):
            return None
        values, at_once = rule.values(value, old), self._at_once
        budget = at_once if at_once < CALL_COST_MAX else CALL_COST_MAX
        try:
            holds, cost = rule.program.evaluate(values, budget=budget)
        except EvaluationError as failed:
            return evaluation_failure(rule, failed, path=path)
        except CostExceeded as exceeded:
            if at_once < CALL_COST_MAX:
                raise Unfinished from None
            self.errors.append(evaluation_failure(rule, exceeded, path=path))
            raise _Exhausted from None
        self._at_once = at_once - cost
        self._left -= cost
        if self._left < 0:
            self.errors.append(budget_failure(path, place.schema_type))
            raise _Exhausted
        if holds is True:
            return None
        detail = rule.message_of(values, budget=min(CALL_COST_MAX, self._at_once))
        return failure(rule, path=path, value=raw, detail=detail)


def _members(place: _Place, value: JsonObject) -> Iterator[tuple[str, Any, _Place]]:
    for name, below in place.properties.items():
        if name in value:
            yield name, value[name], below
    if place.values is not None:
        for name in sorted(value):
            yield name, value[name], place.values


def _identity(keys: Sequence[str], item: Any) -> tuple[str, ...]:
    return tuple(repr(item.get(key)) for key in keys) if isinstance(item, dict) else ()


def _earlier(keys: Sequence[str] | None, new: list[Any], old: Any) -> Callable[[int, Any], Any]:
    """Finds the old element of a new one by what tells elements apart; there is none in lists that are replaced as a
    whole."""
    if not keys or not isinstance(old, list):
        return lambda index, item: ABSENT
    found = {_identity(keys, item): item for item in old}
    if len(found) < len(old) and equal(new, old):
        # What was stored before these were keys.
        return lambda index, item: old[index]
    return lambda index, item: found.get(_identity(keys, item), ABSENT)
