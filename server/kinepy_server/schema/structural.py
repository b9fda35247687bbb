"""A structural schema: everything that is compiled from it, when it is first needed."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from kinepy_server.resources.resource import FieldError
from kinepy_server.schema.structural_check import checker
from kinepy_server.schema.structural_default import any_defaults, filler
from kinepy_server.schema.structural_errors import UNKNOWN, Place, schema_errors
from kinepy_server.schema.structural_lists import Finder, repeat_finder
from kinepy_server.schema.structural_prune import PRESERVES, Pruner, pruner
from kinepy_server.schema.structural_types import object_type
from kinepy_server.schema.types import Type

Schema = Mapping[str, Any]


class Structural:
    """The schema of the objects of one version. Nothing is compiled before it is asked for."""

    def __init__(self, schema: Schema) -> None:
        """`schema` is the openAPIV3Schema of a definition; it must not be changed any more."""
        self.schema = schema

    @cached_property
    def _pruner(self) -> Pruner | None:
        return pruner(self.schema, root=True)

    @cached_property
    def default(self) -> Callable[[Any], None]:
        """Fill in defaults, in place; nulls where null is not allowed go."""
        return filler(self.schema)

    @cached_property
    def has_defaults(self) -> bool:
        """Whether an absent value may become something."""
        return any_defaults(self.schema)

    @cached_property
    def keeps_everything(self) -> bool:
        """Whether objects are stored and shown as they came."""
        return bool(self.schema.get(PRESERVES)) and self._pruner is None and not self.has_defaults

    @cached_property
    def type(self) -> Type:
        """The type of managed fields."""
        return object_type(self.schema)

    @cached_property
    def _is_valid(self) -> Callable[[Any], bool]:
        return checker(self.schema)

    @cached_property
    def _repeats(self) -> Finder | None:
        return repeat_finder(self.schema)

    def prune(self, value: Any) -> None:
        """Drop what the schema does not name, in place."""
        if self._pruner is not None:
            self._pruner(value, "", None)

    def prune_told(self, value: Any) -> Sequence[str]:
        """As `prune`; the paths of what was dropped, in order."""
        if self._pruner is None:
            return ()
        dropped: list[str] = []
        self._pruner(value, "", dropped)
        return sorted(path.removeprefix(".") for path in dropped) if dropped else ()

    def errors(self, value: Any, old: Any = UNKNOWN) -> list[FieldError]:
        """What is wrong with an object. On update, what has not changed since `old` is not looked at."""
        return [] if self._is_valid(value) else schema_errors(self.schema, value, Place("", "", old))

    def part_errors(self, name: str, value: Any, old: Any = UNKNOWN) -> list[FieldError]:
        """As `errors`, of one member alone: messages then name what is in it without it."""
        part = (self.schema.get("properties") or {}).get(name)
        return schema_errors(part, value, Place(name, "", old)) if isinstance(part, Mapping) else []

    def repeated(self, value: Any) -> list[FieldError]:
        """The elements that sets and keyed lists have twice."""
        errors: list[FieldError] = []
        if self._repeats is not None:
            self._repeats(value, "", errors)
        return errors
