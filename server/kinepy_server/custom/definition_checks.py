"""The rules of definitions (CRD-1, CRD-3), in the original's words and order.

The original first moves what all versions share to the top of the spec: so causes name it there.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from kinepy_server.custom.conditions import APPROVAL, is_protected
from kinepy_server.custom.conversion_checks import conversion_errors, is_ca_bundle
from kinepy_server.custom.definition import ESTABLISHED
from kinepy_server.custom.schema_checks import openapi_errors
from kinepy_server.custom.version_checks import (
    LABEL_RULE,
    column_errors,
    deprecation_errors,
    is_label,
    selectable_errors,
    subresource_errors,
)
from kinepy_server.resources.checks.causes import Key, Path, invalid, path_of, required, unsupported
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.qualified import SUBDOMAIN, SUBDOMAIN_RULE

_SCOPES = ("Cluster", "Namespaced")
_MIXED = ("kind", "listKind")
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


def definition_errors(new: JsonObject, *, established: bool = False) -> list[FieldError]:
    """Everything that is wrong with a definition. Once it is `established` its webhook must be trustworthy."""
    spec = new["spec"]
    versions = spec.get("versions") or []
    errors = [*_name(new), *_group(spec), *_scope(spec)]
    if versions:
        layout = _Layout(versions)
        errors += [*_missing_schemas(layout), *_versions(layout), *_names(spec), *_members(layout)]
    else:
        text = "must have exactly one version marked as storage version"
        errors += [invalid((SPEC, "versions"), None, text), *_names(spec)]
    conversion = conversion_errors(
        spec.get("conversion") or {}, (SPEC, "conversion"), established=established
    )
    return [*errors, *conversion, *_stored(new, versions), *_approval(new), *_preserving(spec)]


def changed_definition_errors(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """The rules, and what an established definition may not change."""
    fixed = []
    spec, before = new["spec"], old["spec"]
    conditions = (old.get("status") or {}).get("conditions") or ()
    established = any(one.get("type") == ESTABLISHED and one.get("status") == "True" for one in conditions)
    if established:
        for path in ("scope", "names.kind"):
            fixed += _fixed(spec, before, path)
    for path in ("group", "names.plural"):
        fixed += _fixed(spec, before, path)
    # What is fixed is part of the name, which then does not fit: that is not told twice.
    refused = {error.field for error in fixed}
    skipped = {"metadata.name"} if refused & {"spec.group", "spec.names.plural"} else set()
    errors = definition_errors(new, established=established and not _trusts_nobody(before))
    return [error for error in errors if error.field not in skipped | refused] + fixed


def _trusts_nobody(spec: JsonObject) -> bool:
    """Whether the CA bundle of a definition's webhook was no such bundle before."""
    client = ((spec.get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
    return bool(client.get("caBundle")) and not is_ca_bundle(client["caBundle"])


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
        if value and not is_label(value.lower() if name in _MIXED else value):
            rule = (
                f"may have mixed case, but should otherwise match: {LABEL_RULE}"
                if name in _MIXED
                else LABEL_RULE
            )
            yield invalid((here, name), value, rule)
    yield from _labels(names, "shortNames")
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid((here, "listKind"), names["listKind"], "kind and listKind may not be the same")
    yield from _labels(names, "categories")


def _labels(names: JsonObject, member: str) -> Iterator[FieldError]:
    for index, value in enumerate(names.get(member) or ()):
        if not is_label(value):
            yield invalid((((SPEC, "names"), member), index), value, LABEL_RULE)


# --- versions


def _missing_schemas(layout: _Layout) -> Iterator[FieldError]:
    for index, version in enumerate(layout.versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield required(((((SPEC, "versions"), index), "schema"), "openAPIV3Schema"))


def _versions(layout: _Layout) -> Iterator[FieldError]:
    versions, here = layout.versions, (SPEC, "versions")
    names = [one.get("name") or "" for one in versions]
    for index, name in enumerate(names):
        if not is_label(name):
            yield invalid(((here, index), "name"), name, LABEL_RULE)
        if versions[index].get("deprecationWarning") is not None:
            yield from deprecation_errors(versions[index], (here, index))
    if len(set(names)) < len(names):
        yield invalid(here, layout.shown(), "must contain unique version names")
    if sum(bool(one.get("storage")) for one in versions) != 1:
        yield invalid(here, layout.shown(), "must have exactly one version marked as storage version")
    if not is_label(names[0]):
        yield invalid((SPEC, "version"), names[0], LABEL_RULE)


def _members(layout: _Layout) -> Iterator[FieldError]:
    for path, value, version in layout.places("schema"):
        schema = (value or {}).get("openAPIV3Schema")
        if schema is not None:
            has_status = "status" in (version.get("subresources") or {})
            yield from openapi_errors(schema, (path, "openAPIV3Schema"), has_status=has_status)
    for path, value, _ in layout.places("subresources"):
        yield from subresource_errors(value or {}, path)
    for path, value, _ in layout.places("additionalPrinterColumns"):
        for index, column in enumerate(value or ()):
            yield from column_errors(column, (path, index))
    for path, value, version in layout.places("selectableFields"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        yield from selectable_errors(value or (), path, schema)


# --- stored versions, approval


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


def _preserving(spec: JsonObject) -> Iterator[FieldError]:
    if spec.get("preserveUnknownFields"):
        instead = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid((SPEC, "preserveUnknownFields"), True, f"cannot set to true, {instead}")
