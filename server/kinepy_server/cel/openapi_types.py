"""From OpenAPI schemas, which refer to each other, to the types that expressions see."""

from collections.abc import Mapping
from typing import Any

from kinepy_server.cel.schema_types import Schema, type_of_schema
from kinepy_server.cel.types import Type

_REFERENCE = "#/components/schemas/"
_CIRCLE: Schema = {"type": "object"}
"""What stands for a schema within itself."""
_EMBEDDED = "x-kubernetes-embedded-resource"
_HEAD: Mapping[str, Any] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


def type_of_component(components: Mapping[str, Schema], name: str) -> Type | None:
    """The type of whole objects of a component; None where nothing is known of them.

    Members whose schema names no type, such as quantities, are not part of it: the original has none for them.
    """
    schema = _Resolver(components).resolved(components[name], (name,))
    return type_of_schema(schema, path=name)


class _Resolver:
    def __init__(self, components: Mapping[str, Schema]) -> None:
        self._components = components

    def resolved(self, schema: Schema, within: tuple[str, ...]) -> dict[str, Any]:
        """The schema with all that it refers to in it; `within` names what it is part of."""
        name = _referred(schema)
        if name:
            if name in within:
                return dict(_CIRCLE)
            schema, within = self._components[name], (*within, name)
        made = dict(schema)
        if made.get("format") == "int-or-string":
            made["x-kubernetes-int-or-string"] = True
        if "properties" in made:
            members = made["properties"].items()
            made["properties"] = {key: self.resolved(member, within) for key, member in members}
        for inner in ("items", "additionalProperties"):
            if isinstance(made.get(inner), Mapping):
                made[inner] = self.resolved(made[inner], within)
        if made.pop(_EMBEDDED, False):
            # Its metadata is described; nothing else is to be made known of it.
            made = {"type": "object", **made, "properties": {**made.get("properties", {}), **_HEAD}}
        return made


def _referred(schema: Schema) -> str:
    references = [schema, *schema.get("allOf", ())]
    found = next((one["$ref"] for one in references if "$ref" in one), "")
    return str(found).removeprefix(_REFERENCE)
