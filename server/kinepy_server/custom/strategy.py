"""What all custom resources do: defaults, generation, status, validation by their schema (CRD-11)."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kinepy_server.cel import compile_rules
from kinepy_server.custom.embedded import Find, embedded_finder
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.schema.structural import Structural

if TYPE_CHECKING:
    from kinepy_server.cel import Rules

_HEAD = frozenset(("apiVersion", "kind", "metadata"))
_HEAD_AND_STATUS = _HEAD | {"status"}
_BLOCKING = frozenset(
    (
        "FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany",
        "FieldValueTypeInvalid",
    )
)  # fmt: skip
_NOT_CHECKED = FieldError(
    "<nil>",
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the"
    " existing errors to complete validation",
)


class CustomStrategy:
    """See `Strategy` for what each method is asked."""

    def __init__(
        self,
        structural: Callable[[], Structural],
        *,
        has_status: bool,
        replicas_errors: Callable[[JsonObject], Sequence[FieldError]] | None,
    ) -> None:
        self._structural, self._has_status = structural, has_status
        self._replicas_errors = replicas_errors
        self._rules: Rules | None = None
        self._counted = _HEAD_AND_STATUS if has_status else _HEAD

    def _rules_of(self, structural: Structural) -> "Rules":
        if self._rules is None:
            self._rules = compile_rules(structural.schema)
        return self._rules

    def default(self, new: JsonObject) -> None:
        """The defaults of the schema."""
        self._structural().default(new)

    def prepare_create(self, new: JsonObject) -> None:
        """The status is written through its own endpoint."""
        if self._has_status:
            new.pop("status", None)

    def prepare_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> None:
        """Each endpoint changes its own part; whatever else changes is another generation."""
        if subresource == "status":
            _keep_all_but_status(new, old)
            return
        if self._has_status:
            _keep(new, old, "status")
        counted = self._counted
        if any(new.get(name) != old.get(name) for name in (new.keys() | old.keys()) - counted):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate_create(self, new: JsonObject) -> Sequence[FieldError]:
        """The schema, repeated elements, then the rules."""
        structural = self._structural()
        errors = [*structural.errors(new), *self._scale_errors(new), *self._embedded_errors(new)]
        errors += structural.repeated(new)
        return self._with_rules(errors, structural, new, old=None)

    def validate_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> Sequence[FieldError]:
        """As on create. What was wrong before and has not changed may stay."""
        structural = self._structural()
        if subresource == "status":
            errors = (
                structural.part_errors("status", new.get("status"), old.get("status"))
                if "status" in new
                else []
            )
        else:
            errors = [*structural.errors(new, old), *self._scale_errors(new), *self._embedded_errors(new)]
        repeated = structural.repeated(new)
        if repeated and not structural.repeated(old):
            errors += repeated
        return self._with_rules(errors, structural, new, old=old)

    @cached_property
    def _embedded(self) -> Find | None:
        return embedded_finder(self._structural().schema)

    def _embedded_errors(self, new: JsonObject) -> list[FieldError]:
        """Of embedded resources. As in the original also of those that have not changed."""
        errors: list[FieldError] = []
        if self._embedded is not None:
            self._embedded(new, "", errors)
        return errors

    def _scale_errors(self, new: JsonObject) -> Sequence[FieldError]:
        return self._replicas_errors(new) if self._replicas_errors is not None else ()

    def _with_rules(
        self, errors: list[FieldError], structural: Structural, new: JsonObject, *, old: JsonObject | None
    ) -> Sequence[FieldError]:
        rules = self._rules_of(structural)
        if not rules:
            return errors
        if any(error.reason in _BLOCKING for error in errors):
            return [*errors, _NOT_CHECKED]
        # Not at the module's head: it needs the language, which was loaded with the rules.
        from kinepy_server.cel.postponed import validated

        return [*errors, *validated(rules, new, old)]


def _keep(new: JsonObject, old: JsonObject, name: str) -> None:
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)


def _keep_all_but_status(new: JsonObject, old: JsonObject) -> None:
    """Of metadata only the managers of fields are the status endpoint's."""
    for name in (new.keys() | old.keys()) - _HEAD_AND_STATUS:
        _keep(new, old, name)
    given = new["metadata"]
    kept = dict(old["metadata"])
    for name in ("managedFields", "resourceVersion"):
        kept.pop(name, None)
        if name in given:
            kept[name] = given[name]
    given.clear()
    given.update(kept)
