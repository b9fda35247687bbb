"""The strategy of most types: what the schema and the fact tables say, and hooks for what they cannot say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from kinepy_server.resources.checks.compile import problems_of
from kinepy_server.resources.checks.fixed import fixed_problems
from kinepy_server.resources.defaults.compile import filler
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.schema.compile import zero_of
from kinepy_server.schema.types import Property, type_named

_HEAD = frozenset(("apiVersion", "kind", "metadata", "status"))

Prepare: TypeAlias = Callable[[JsonObject], None]
PrepareUpdate: TypeAlias = Callable[[JsonObject, JsonObject], None]
"""Changes the first object in place; the second is the stored one."""
Check: TypeAlias = Callable[[JsonObject], Sequence[FieldError]]
CheckUpdate: TypeAlias = Callable[[JsonObject, JsonObject], Sequence[FieldError]]


@dataclass(frozen=True, slots=True)
class Hooks:
    """What only code can say about a type."""

    create: Prepare | None = None
    update: PrepareUpdate | None = None
    status: PrepareUpdate | None = None
    """After all but the status was taken from what is stored."""
    subresources: Mapping[str, PrepareUpdate] = field(default_factory=dict)
    """How an update through a subresource changes the object, except `status`: it keeps what is stored, but for
    its own part."""
    check: Check | None = None
    check_update: CheckUpdate | None = None
    """Beside `check`, which holds for updates as well."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the fact tables say about a type; see `rules_of` in the generator of the data."""

    generation_by: Sequence[str] = ("spec",)
    has_generation: bool = False
    keeps_status_on_create: bool = False
    finalizers: Sequence[str] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    status_keeps: Sequence[str] = ()


class TypeStrategy:
    """See `Strategy` for what each method is asked."""

    def __init__(self, schema: str, rules: Rules, hooks: Hooks) -> None:
        self._schema, self._rules, self._hooks = schema, rules, hooks

    @cached_property
    def _fill(self) -> Callable[[Any], None] | None:
        return filler(self._schema)

    @cached_property
    def _status(self) -> Property | None:
        return type_named(self._schema).properties.get("status")

    def default(self, new: JsonObject) -> None:
        """The defaults of its type and of all types in it."""
        if self._fill is not None:
            self._fill(new)

    def prepare_create(self, new: JsonObject) -> None:
        """The status starts afresh; finalizers and annotations that all objects of the type have."""
        rules = self._rules
        if self._status is not None and not rules.keeps_status_on_create:
            self._reset_status(new)
        for name in rules.finalizers:
            held = new["metadata"].setdefault("finalizers", [])
            if name not in held:
                held.append(name)
        if rules.annotations:
            new["metadata"].setdefault("annotations", {}).update(rules.annotations)
        if self._hooks.create is not None:
            self._hooks.create(new)

    def _reset_status(self, new: JsonObject) -> None:
        status = self._status
        assert status is not None
        if status.pointer:
            new.pop("status", None)
        else:
            new["status"] = zero_of(status.type)

    def prepare_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> None:
        """Each endpoint changes its own part; a changed spec is another generation."""
        if subresource == "status":
            self._keep_all_but_status(new, old)
            if self._hooks.status is not None:
                self._hooks.status(new, old)
            return
        if subresource in self._hooks.subresources:
            self._hooks.subresources[subresource](new, old)
        else:
            if self._status is not None:
                _keep(new, old, "status")
            if self._hooks.update is not None and not subresource:
                self._hooks.update(new, old)
        rules = self._rules
        if rules.has_generation and _changed(new, old, rules.generation_by):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def _keep_all_but_status(self, new: JsonObject, old: JsonObject) -> None:
        for name in (new.keys() | old.keys()) - _HEAD:
            _keep(new, old, name)
        for part in self._rules.status_keeps:
            _keep(new["metadata"], old["metadata"], part)

    def validate_create(self, new: JsonObject) -> Sequence[FieldError]:
        """The checks of its type."""
        errors = problems_of(self._schema, new)
        return [*errors, *self._hooks.check(new)] if self._hooks.check is not None else errors

    def validate_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> Sequence[FieldError]:
        """The checks of its type, and what may not change."""
        hooks = self._hooks
        if subresource:
            return self.validate_create(new) if subresource in hooks.subresources else ()
        errors = [*self.validate_create(new), *fixed_problems(self._schema, new, old)]
        return [*errors, *hooks.check_update(new, old)] if hooks.check_update is not None else errors


def _keep(new: JsonObject, old: JsonObject, name: str) -> None:
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)


def _changed(new: JsonObject, old: JsonObject, parts: Sequence[str]) -> bool:
    for part in parts:
        if part == "spec":
            if any(new.get(name) != old.get(name) for name in (new.keys() | old.keys()) - _HEAD):
                return True
        elif (new["metadata"].get(part) or {}) != (old["metadata"].get(part) or {}):
            return True
    return False
