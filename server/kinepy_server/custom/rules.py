"""The validation rules (CEL) of a schema: the one place that hands objects to them."""

from collections.abc import Mapping
from typing import Any

from kinepy_server.resources.resource import FieldError, JsonObject

RULES = "x-kubernetes-validations"


def has_rules(schema: Mapping[str, Any]) -> bool:
    """Whether anything in a schema has rules."""
    if schema.get(RULES):
        return True
    inner = [
        *(schema.get("properties") or {}).values(),
        schema.get("items"),
        schema.get("additionalProperties"),
    ]
    return any(isinstance(part, Mapping) and has_rules(part) for part in inner)


class Rules:
    """The rules of the objects of one version, compiled when there are some."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._has = has_rules(schema)

    def __bool__(self) -> bool:
        return self._has

    def errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """What the rules say of an object that was made of another."""
        return []


def rule_errors(schema: Mapping[str, Any], field: str) -> list[FieldError]:
    """What is wrong with the rules of a schema that is described at a field of its definition."""
    return []
