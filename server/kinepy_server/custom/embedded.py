"""What is wrong with the types and metadata of embedded resources (CRD-11), beside their presence."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kinepy_server.custom.version_checks import LABEL_RULE, is_label
from kinepy_server.objects.metadata import embedded_metadata_errors
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.keys import quoted
from kinepy_server.schema.structural_prune import EMBEDDED

Find: TypeAlias = Callable[[Any, str, list[FieldError]], None]
"""Adds the errors of a value, whose path is given, to a list."""


def embedded_finder(schema: Mapping[str, Any]) -> Find | None:
    """What looks at all embedded resources in a value; None when the schema has none."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    children = {name: below for name, inner in properties.items() if (below := embedded_finder(inner))}
    additional, items = schema.get("additionalProperties"), schema.get("items")
    rest = embedded_finder(additional) if isinstance(additional, Mapping) else None
    element = embedded_finder(items) if isinstance(items, Mapping) else None
    embedded = bool(schema.get(EMBEDDED))
    if not (embedded or children or rest or element):
        return None

    def find(value: Any, path: str, errors: list[FieldError]) -> None:
        if type(value) is dict:
            if embedded:
                errors += _errors(value, path)
            for name, member in value.items():
                if name in children:
                    children[name](member, f"{path}.{name}" if path else name, errors)
                elif rest is not None and name not in properties:
                    rest(member, f"{path}[{name}]", errors)
        elif type(value) is list and element is not None:
            for index, member in enumerate(value):
                element(member, f"{path}[{index}]", errors)

    return find


def _errors(value: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    version, kind, metadata = value.get("apiVersion"), value.get("kind"), value.get("metadata")
    if isinstance(version, str) and version.count("/") > 1:
        text = f"Invalid value: {quoted(version)}: unexpected GroupVersion string: {version}"
        errors.append(FieldError(f"{path}.apiVersion", "FieldValueInvalid", text))
    if isinstance(kind, str) and kind and not is_label(kind.lower()):
        text = f"Invalid value: {quoted(kind)}: may have mixed case, but should otherwise match: {LABEL_RULE}"
        errors.append(FieldError(f"{path}.kind", "FieldValueInvalid", text))
    if isinstance(metadata, dict):
        errors += [
            FieldError(f"{path}.{error.field}", error.reason, error.text)
            for error in embedded_metadata_errors(metadata)
        ]
    return errors
