"""What all objects have: filling in and checking their metadata (ERR-3, WR-1, UPD-6, UPD-9). Pure."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from kinepy_server.objects.names import name_problems, prefix_problems
from kinepy_server.read.selectors.label_syntax import value_problems
from kinepy_server.resources.resource import FieldError, JsonObject, Resource
from kinepy_server.resources.strategies.keys import invalid, quoted
from kinepy_server.resources.strategies.qualified import qualified_name_problems

ANNOTATIONS_BYTES_MAX = 262144
ERRORS_MAX = 100
"""So many wrong labels, annotations or finalizers are told of; the object is refused for one of them."""
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_STANDARD_FINALIZERS = frozenset(("kubernetes", FOREGROUND, ORPHAN))
_DROPPED_ON_CREATE = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_FROM_STORED = ("creationTimestamp", "generation")
_IMMUTABLE = ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_KEPT_WHEN_ABSENT = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_NOT_EMPTY = "must not be empty"
_OWNER_ORDER = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")

_KNOWN_TEXT_MAX = 512
"""Longer texts are never right, and what is wrong with them is not kept: so the caches stay small."""

_known_key_problems = lru_cache(maxsize=8192)(qualified_name_problems)
_known_label_problems = lru_cache(maxsize=8192)(value_problems)


def _key_problems(key: str) -> Sequence[str]:
    return _known_key_problems(key) if len(key) <= _KNOWN_TEXT_MAX else qualified_name_problems(key)


def _label_problems(value: str) -> Sequence[str]:
    return _known_label_problems(value) if len(value) <= _KNOWN_TEXT_MAX else value_problems(value)


def fill_new(metadata: JsonObject, *, uid: str, now: str) -> None:
    """Set what the server decides of a new object."""
    for field in _DROPPED_ON_CREATE:
        metadata.pop(field, None)
    metadata["uid"] = uid
    metadata["creationTimestamp"] = now


def fill_changed(metadata: JsonObject, stored: JsonObject) -> None:
    """Take from the stored object what a client cannot change, or has left out."""
    metadata.pop("selfLink", None)
    for field in _FROM_STORED:
        if field in stored:
            metadata[field] = stored[field]
        else:
            metadata.pop(field, None)
    for field in _KEPT_WHEN_ABSENT:
        if metadata.get(field) in (None, "") and field in stored:
            metadata[field] = stored[field]


def drop_duplicate_owners(metadata: JsonObject) -> str:
    """Drop repeated owner references; returns the warning to give, empty when there were none (WR-7)."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) == 1:
        return ""
    kept: list[JsonObject] = []
    repeated: list[str] = []
    for owner in owners:
        if owner not in kept:
            kept.append(owner)
        elif owner.get("uid", "") not in repeated:
            repeated.append(owner.get("uid", ""))
    if not repeated:
        return ""
    metadata["ownerReferences"] = kept
    return (
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and"
        " may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed:"
        f" {', '.join(repeated)}"
    )


def metadata_errors(resource: Resource, metadata: JsonObject) -> list[FieldError]:
    """What is wrong with the metadata of a new object, in the original's order."""
    errors: list[FieldError] = []
    base = metadata.get("generateName")
    if base:
        errors += _named("metadata.generateName", base, prefix_problems(resource.name_rule, base))
    name = metadata.get("name", "")
    if name:
        if problems := name_problems(resource.name_rule, name):
            errors += _named("metadata.name", name, problems)
    else:
        text = "Required value: name or generateName is required"
        errors.append(FieldError("metadata.name", "FieldValueRequired", text))
    errors += _shared_errors(metadata)
    finalizers = metadata.get("finalizers")
    if finalizers:
        errors += _finalizer_errors(finalizers, qualified=resource.validates_finalizer_names)
    return errors


def embedded_metadata_errors(metadata: JsonObject) -> list[FieldError]:
    """What is wrong with the metadata of an object inside of another, which needs no name."""
    errors: list[FieldError] = []
    base, name, namespace = (metadata.get(field) or "" for field in ("generateName", "name", "namespace"))
    if base:
        errors += _named("metadata.generateName", base, prefix_problems("pathSegment", base))
    if name:
        errors += _named("metadata.name", name, name_problems("pathSegment", name))
    if namespace:
        errors += _named("metadata.namespace", namespace, name_problems("dnsLabel", namespace))
    return [
        *errors,
        *_shared_errors(metadata),
        *_finalizer_errors(metadata.get("finalizers") or (), qualified=False),
    ]


def changed_metadata_errors(metadata: JsonObject, stored: JsonObject) -> list[FieldError]:
    """What is wrong with the metadata of a changed object beside what `metadata_errors` finds."""
    errors: list[FieldError] = []
    if "deletionTimestamp" in stored:
        known = stored.get("finalizers") or ()
        added = [name for name in metadata.get("finalizers") or () if name not in known]
        if added:
            errors.append(_no_new_finalizers(added))
    for field in _IMMUTABLE:
        value = metadata.get(field)
        if value != stored.get(field):
            shown = quoted(value) if isinstance(value, str) else str(value)
            errors.append(invalid(f"metadata.{field}", shown, "field is immutable"))
    return errors


def _no_new_finalizers(added: Sequence[str]) -> FieldError:
    listed = ", ".join(quoted(name) for name in sorted(set(added)))
    text = (
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers"
        f" []string{{{listed}}}"
    )
    return FieldError("metadata.finalizers", "FieldValueForbidden", text)


def _named(field: str, name: str, problems: Sequence[str]) -> list[FieldError]:
    return [invalid(field, quoted(name), problem) for problem in problems]


def _shared_errors(metadata: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    labels = metadata.get("labels")
    if labels:
        errors += _label_errors(labels)
    annotations = metadata.get("annotations")
    if annotations:
        errors += _annotation_errors(annotations)
    owners = metadata.get("ownerReferences")
    if owners:
        errors += _owner_errors(owners)
    return errors


def _label_errors(labels: Mapping[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in labels.items():
        if len(errors) >= ERRORS_MAX:
            break
        if problems := _key_problems(key):
            errors += _named("metadata.labels", key, problems)
        if problems := _label_problems(value):
            errors += _named("metadata.labels", value, problems)
    return errors


def _annotation_errors(annotations: Mapping[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    total = 0
    for key, value in annotations.items():
        if len(errors) < ERRORS_MAX and (problems := _key_problems(key.lower())):
            errors += _named("metadata.annotations", key, problems)
        total += _size(key) + _size(value)
    if total > ANNOTATIONS_BYTES_MAX:
        text = f"Too long: may not be more than {ANNOTATIONS_BYTES_MAX} bytes"
        errors.append(FieldError("metadata.annotations", "FieldValueTooLong", text))
    return errors


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _owner_errors(owners: Sequence[JsonObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    controller: JsonObject | None = None
    for owner in owners:
        errors += _one_owner_errors(owner)
        if not owner.get("controller"):
            continue
        if controller is not None:
            both = " and ".join(f"{o.get('kind', '')}/{o.get('name', '')}" for o in (controller, owner))
            detail = (
                f'Only one reference can have Controller set to true. Found "true" in references for {both}'
            )
            shown = ",".join(_owner_text(one) for one in owners)
            errors.append(invalid("metadata.ownerReferences", f"[{shown}]", detail))
        else:
            controller = owner
    return errors


def _one_owner_errors(owner: JsonObject) -> list[FieldError]:
    errors = []
    version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
    if not version or version.count("/") > 1 or version.endswith("/"):
        detail = "version must not be empty"
        errors.append(invalid("metadata.ownerReferences.apiVersion", quoted(version), detail))
    empty = [field for field in ("kind", "name", "uid") if not owner.get(field)]
    errors += [invalid(f"metadata.ownerReferences.{field}", '""', _NOT_EMPTY) for field in empty]
    if (version, kind) == ("v1", "Event"):
        detail = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(invalid("metadata.ownerReferences", _owner_text(owner), detail))
    return errors


def _owner_text(owner: JsonObject) -> str:
    required: dict[str, Any] = {field: owner.get(field, "") for field in _OWNER_ORDER[:4]}
    optional = {field: owner[field] for field in _OWNER_ORDER[4:] if owner.get(field) is not None}
    return orjson.dumps({**required, **optional}).decode()


def _finalizer_errors(finalizers: Sequence[str], *, qualified: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in finalizers:
        if len(errors) < ERRORS_MAX and (problems := _key_problems(name)):
            errors += _named("metadata.finalizers", name, problems)
    if FOREGROUND in finalizers and ORPHAN in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        errors.append(invalid("metadata.finalizers", orjson.dumps(finalizers).decode(), detail))
    if qualified:
        detail = "name is neither a standard finalizer name nor is it fully qualified"
        errors += [
            invalid(f"metadata.finalizers[{index}]", quoted(name), detail)
            for index, name in enumerate(finalizers)
            if "/" not in name and name not in _STANDARD_FINALIZERS
        ]
    return errors


def is_named(obj: Any) -> bool:
    """Whether what another server has told is an object with a name."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    return isinstance(metadata, dict) and isinstance(metadata.get("name"), str)
