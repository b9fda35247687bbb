"""What a definition says of the objects of one version: see `Shape`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from kinepy_server.custom.definition import Definition, Version
from kinepy_server.custom.openapi import published
from kinepy_server.ending import Ending
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.structural import Structural
from kinepy_server.schema.structural_embedded import Visitor, embedded_visitor
from kinepy_server.schema.types import Type
from kinepy_server.wire.custom_body import coerced_metadata

NEVER = 2**63
_TERMINATING = "create not allowed while custom resource definition is terminating"
_forms = count()


@dataclass(slots=True)
class Life:
    """What all versions of a definition share until its spec changes."""

    deleting: bool = False
    settled_since: int = NEVER
    """From this revision on nothing was stored by anyone who did not know the definition."""
    ending: Ending = field(default_factory=Ending)


class CustomShape:
    """The shape of the objects of one version."""

    def __init__(self, definition: Definition, version: Version, *, life: Life) -> None:
        self._definition, self._version, self._life = definition, version, life
        self.form = f"{definition.group}/{version.name} {next(_forms)}"
        self.ending = life.ending

    @cached_property
    def structural(self) -> Structural:
        """The schema, read when it is first needed."""
        return Structural(self._definition.schema(self._version.name))

    @cached_property
    def _embedded(self) -> Visitor | None:
        return embedded_visitor(self.structural.schema, coerced_metadata)

    @property
    def type(self) -> Type:
        """The type of managed fields."""
        return self.structural.type

    @property
    def deletion(self) -> str:
        """Why nothing new is taken any more."""
        return _TERMINATING if self._life.deleting else ""

    def prune(self, obj: JsonObject) -> Sequence[str]:
        """Drop what the schema does not name, also from the metadata of embedded resources."""
        problems: list[str] = []
        if self._embedded is not None:
            self._embedded(obj, None, problems)
        return [*problems, *(f'unknown field "{path}"' for path in self.structural.prune_told(obj))]

    def is_settled(self, revision: int) -> bool:
        """Whether whoever stored something at a revision knew this schema."""
        return revision >= self._life.settled_since

    def settle(self, obj: JsonObject) -> None:
        """Bring a stored object into this form, in place."""
        self.structural.prune(obj)
        self.structural.default(obj)

    def openapi(self) -> JsonObject:
        """The schema as OpenAPI v3 shows it."""
        kind = {
            "group": self._definition.group,
            "kind": self._definition.requested.kind,
            "version": self._version.name,
        }
        # A schema that nothing else has needed is not kept for this: many are shown that nobody uses.
        known = "structural" in vars(self)
        schema = self.structural.schema if known else self._definition.schema(self._version.name)
        return published(schema, kind)
