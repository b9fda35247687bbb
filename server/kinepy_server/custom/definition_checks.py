"""The rules of definitions (CRD-1, CRD-3), in the original's words and order.

The original first moves what all versions share to the top of the spec: so causes name it there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from kinepy_server.custom.conditions import APPROVAL, is_protected
from kinepy_server.custom.definition import ESTABLISHED
from kinepy_server.custom.paths import BadPath, is_simple, names_of, parse_path
from kinepy_server.custom.schema_checks import openapi_errors
from kinepy_server.resources.checks.causes import (
    Key,
    Path,
    forbidden,
    invalid,
    path_of,
    path_text,
    required,
    unsupported,
)
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.qualified import SUBDOMAIN, SUBDOMAIN_RULE

LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_SCOPES = ("Cluster", "Namespaced")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_STRATEGIES = ("None", "Webhook")
_SHARED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""Members of versions -> where they are when all versions have the same."""
_VERSION_MEMBERS = (
    ("Name", "name", ""), ("Served", "served", False), ("Storage", "storage", False),
    ("Deprecated", "deprecated", False),
    ("DeprecationWarning", "deprecationWarning", None), ("Schema", "schema", None),
    ("Subresources", "subresources", None), ("AdditionalPrinterColumns", "additionalPrinterColumns", None),
    ("SelectableFields", "selectableFields", None),
)  # fmt: skip
SPEC: Path = path_of("spec")
_CLASHES = ("metadata.name", "metadata.namespace")


class _Layout:
    """Where the members of versions are in the original's internal form."""

    def __init__(self, versions: Sequence[JsonObject]) -> None:
        self.versions = versions
        self.shared = frozenset(
            name for name in _SHARED if all(one.get(name) == versions[0].get(name) for one in versions[1:])
        )

    def places(self, member: str) -> Iterator[tuple[Path, Any, JsonObject]]:
        """Where a member is, its value, and a version that has it."""
        if member in self.shared:
            yield (SPEC, _SHARED[member]), self.versions[0].get(member), self.versions[0]
            return
        for index, version in enumerate(self.versions):
            yield (((SPEC, "versions"), index), member), version.get(member), version

    def shown(self) -> list[JsonObject]:
        """The versions as messages write them."""
        return [
            {
                go: None if name in self.shared else one.get(name, default)
                for go, name, default in _VERSION_MEMBERS
            }
            for one in self.versions
        ]


def definition_errors(new: JsonObject) -> list[FieldError]:
    """Everything that is wrong with a definition."""
    spec = new["spec"]
    versions = spec.get("versions") or []
    errors = [*_name(new), *_group(spec), *_scope(spec)]
    if versions:
        layout = _Layout(versions)
        errors += [*_missing_schemas(layout), *_versions(layout), *_names(spec), *_members(layout)]
    else:
        text = "must have exactly one version marked as storage version"
        errors += [invalid((SPEC, "versions"), None, text), *_names(spec)]
    return [*errors, *_conversion(spec), *_stored(new, versions), *_approval(new)]


def changed_definition_errors(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """The rules, and what an established definition may not change."""
    fixed = []
    spec, before = new["spec"], old["spec"]
    conditions = (old.get("status") or {}).get("conditions") or ()
    if any(one.get("type") == ESTABLISHED and one.get("status") == "True" for one in conditions):
        for path in ("scope", "names.kind"):
            fixed += _fixed(spec, before, path)
    for path in ("group", "names.plural"):
        fixed += _fixed(spec, before, path)
    # What is fixed is part of the name, which then does not fit: that is not told twice.
    refused = {error.field for error in fixed}
    skipped = {"metadata.name"} if refused & {"spec.group", "spec.names.plural"} else set()
    return [error for error in definition_errors(new) if error.field not in skipped | refused] + fixed


def _fixed(spec: JsonObject, before: JsonObject, path: str) -> list[FieldError]:
    value, was = _at(spec, path), _at(before, path)
    return [] if value == was else [invalid(path_of(f"spec.{path}"), value, "field is immutable")]


def _at(value: JsonObject, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) or {}
    return value or ""


# --- the head of the spec


def _name(new: JsonObject) -> Iterator[FieldError]:
    spec, name = new["spec"], new["metadata"].get("name", "")
    if not SUBDOMAIN.fullmatch(name):
        yield invalid(path_of("metadata.name"), name, SUBDOMAIN_RULE)
    if name != f"{_at(spec, 'names.plural')}.{spec.get('group', '')}":
        yield invalid(path_of("metadata.name"), name, 'must be spec.names.plural+"."+spec.group')


def _group(spec: JsonObject) -> Iterator[FieldError]:
    group = spec.get("group") or ""
    if not group:
        yield required((SPEC, "group"))
    elif not SUBDOMAIN.fullmatch(group):
        yield invalid((SPEC, "group"), group, SUBDOMAIN_RULE)
    elif "." not in group:
        yield invalid((SPEC, "group"), group, "should be a domain with at least one dot")


def _scope(spec: JsonObject) -> Iterator[FieldError]:
    scope = spec.get("scope") or ""
    if not scope:
        yield required((SPEC, "scope"))
    elif scope not in _SCOPES:
        yield unsupported((SPEC, "scope"), scope, _SCOPES)


def _names(spec: JsonObject) -> Iterator[FieldError]:
    names, here = spec.get("names") or {}, (SPEC, "names")
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield required((here, name))
    for name in ("plural", "singular", "kind", "listKind"):
        value = names.get(name)
        if value and not LABEL_1035.fullmatch(value.lower()):
            yield invalid((here, name), value, LABEL_1035_RULE)
    for name in ("shortNames", "categories"):
        for index, value in enumerate(names.get(name) or ()):
            if not LABEL_1035.fullmatch(value):
                yield invalid(((here, name), index), value, LABEL_1035_RULE)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid((here, "listKind"), names["listKind"], "kind and listKind may not be the same")


# --- versions


def _missing_schemas(layout: _Layout) -> Iterator[FieldError]:
    for index, version in enumerate(layout.versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield required(((((SPEC, "versions"), index), "schema"), "openAPIV3Schema"))


def _versions(layout: _Layout) -> Iterator[FieldError]:
    versions, here = layout.versions, (SPEC, "versions")
    names = [one.get("name") or "" for one in versions]
    for index, name in enumerate(names):
        if not LABEL_1035.fullmatch(name):
            yield invalid(((here, index), "name"), name, LABEL_1035_RULE)
        if versions[index].get("deprecationWarning") is not None:
            yield from _deprecation(versions[index], (here, index))
    if len(set(names)) < len(names):
        yield invalid(here, layout.shown(), "must contain unique version names")
    if sum(bool(one.get("storage")) for one in versions) != 1:
        yield invalid(here, layout.shown(), "must have exactly one version marked as storage version")
    if not LABEL_1035.fullmatch(names[0]):
        yield invalid((SPEC, "version"), names[0], LABEL_1035_RULE)


def _deprecation(version: JsonObject, path: Path) -> Iterator[FieldError]:
    here, text = (path, "deprecationWarning"), version["deprecationWarning"]
    if not version.get("deprecated"):
        yield invalid(here, text, "can only be set for deprecated versions")
    elif not text or len(text) > 256 or not text.isprintable():
        yield invalid(here, text, "must be printable and at most 256 characters long")


def _members(layout: _Layout) -> Iterator[FieldError]:
    for path, value, version in layout.places("schema"):
        schema = (value or {}).get("openAPIV3Schema")
        if schema is not None:
            has_status = "status" in (version.get("subresources") or {})
            yield from openapi_errors(schema, (path, "openAPIV3Schema"), has_status=has_status)
    for path, value, _ in layout.places("subresources"):
        yield from _subresources(value or {}, path)
    for path, value, _ in layout.places("additionalPrinterColumns"):
        for index, column in enumerate(value or ()):
            yield from _column(column, (path, index))
    for path, value, version in layout.places("selectableFields"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        yield from _selectable(value or (), path, schema)


def _subresources(value: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    scale = value.get("scale")
    if scale is None:
        return
    here = (path, "scale")
    for name, root, needed in (
        ("specReplicasPath", ".spec.", True),
        ("statusReplicasPath", ".status.", True),
        ("labelSelectorPath", "", False),
    ):
        text = scale.get(name) or ""
        if not text:
            if needed:
                yield required((here, name))
        elif not is_simple(text):
            yield invalid((here, name), text, "must be a simple json path starting with .")
        elif root and not text.startswith(root):
            yield invalid((here, name), text, f"should be a json path under {root[:-1]}")
        elif not root and not text.startswith((".status.", ".spec.")):
            yield invalid((here, name), text, "should be a json path under either .spec or .status")


def _column(column: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    for name in ("name",):
        if not column.get(name):
            yield required((path, name))
    kind = column.get("type") or ""
    if not kind:
        yield required((path, "type"), f"must be one of {','.join(_COLUMN_TYPES)}")
    elif kind not in _COLUMN_TYPES:
        yield invalid((path, "type"), kind, f"must be one of {','.join(_COLUMN_TYPES)}")
    text_format = column.get("format") or ""
    if text_format and text_format not in _COLUMN_FORMATS:
        yield invalid((path, "format"), text_format, f"must be one of {','.join(_COLUMN_FORMATS)}")
    text = column.get("jsonPath") or ""
    if not text:
        yield required((path, "jsonPath"))
        return
    try:
        parse_path(text)
    except BadPath:
        yield invalid((path, "jsonPath"), text, "must be a simple json path starting with .")


def _selectable(
    declared: Sequence[Mapping[str, str]], path: Path, schema: JsonObject
) -> Iterator[FieldError]:
    seen = set()
    if len(declared) > 8:
        text = f"Too many: {len(declared)}: must have at most 8 items"
        yield FieldError(path_text(path), "FieldValueTooMany", text)
    for index, one in enumerate(declared):
        here, text = ((path, index), "jsonPath"), one.get("jsonPath") or ""
        if not text:
            yield required(here)
            continue
        if not is_simple(text):
            yield invalid(here, text, "must be a simple json path starting with .")
            continue
        if text in seen:
            yield FieldError(
                path_text(here), "FieldValueDuplicate", f"Duplicate value: {orjson.dumps(text).decode()}"
            )
        seen.add(text)
        if text.startswith(".metadata"):
            yield invalid(here, text, "must not point to fields in metadata")
        elif not _is_selectable(schema, names_of(text)):
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with"
                " formats are allowed."
            )
            yield invalid(here, text, detail)


def _is_selectable(schema: JsonObject, names: Sequence[str]) -> bool:
    for name in names:
        schema = (schema.get("properties") or {}).get(name) or {}
    return schema.get("type") in ("string", "boolean", "integer")


# --- conversion, stored versions, approval


def _conversion(spec: JsonObject) -> Iterator[FieldError]:
    conversion, here = spec.get("conversion") or {}, (SPEC, "conversion")
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook")
    if strategy not in _STRATEGIES:
        yield unsupported((here, "strategy"), strategy, _STRATEGIES)
    elif strategy == "None":
        if webhook is not None:
            detail = "should not be set when strategy is not set to Webhook"
            yield forbidden((here, "webhookClientConfig"), detail)
    else:
        client = (webhook or {}).get("clientConfig")
        if client is None:
            yield required((here, "webhookClientConfig"), "required when strategy is set to Webhook")
        elif (client.get("url") is None) == (client.get("service") is None):
            yield required((here, "webhookClientConfig"), "exactly one of url or service is required")
        if not (webhook or {}).get("conversionReviewVersions"):
            yield required((here, "conversionReviewVersions"))


def _stored(new: JsonObject, versions: Sequence[JsonObject]) -> Iterator[FieldError]:
    here = path_of("status.storedVersions")
    stored: list[str] = (new.get("status") or {}).get("storedVersions") or []
    if not stored:
        yield invalid(here, None, "must have at least one stored version")
    names = [one.get("name") or "" for one in versions]
    storage = [one.get("name") or "" for one in versions if one.get("storage")]
    for index, name in enumerate(stored):
        if name not in names:
            yield invalid((here, index), name, _still_needed(name))
    if stored and storage and storage[-1] not in stored:
        yield invalid(here, stored, f"must have the storage version {storage[-1]}")


def _still_needed(name: str) -> str:
    return (
        f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until"
        f" a storage migration ensures no data remains persisted in {name} and removes {name} from"
        " status.storedVersions"
    )


def _approval(new: JsonObject) -> Iterator[FieldError]:
    if not is_protected(new["spec"].get("group") or ""):
        return
    value = (new["metadata"].get("annotations") or {}).get(APPROVAL)
    here = (path_of("metadata.annotations"), Key(APPROVAL))
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not value:
        detail = f'protected groups must have approval annotation "{APPROVAL}", {see}'
        yield required(here, detail)
    elif not value.startswith(("unapproved", "https://", "http://")):
        how = 'with either a URL or a reason starting with "unapproved"'
        detail = f'protected groups must have approval annotation "{APPROVAL}" {how}, {see}'
        yield invalid(here, value, detail)
