"""From a decoded object to the value that is stored: server fields, defaults, checks, managers. Pure."""

from collections.abc import Iterable, Sequence

from kinepy_server.admission import Admit
from kinepy_server.apply.apply import disowned, settled
from kinepy_server.apply.managed_fields import Writer, track_update
from kinepy_server.apply.managers import Entry
from kinepy_server.errors import Cause, StatusError, invalid
from kinepy_server.objects.codec import encode
from kinepy_server.objects.lifecycle import lifecycle_of
from kinepy_server.objects.metadata import (
    changed_metadata_errors,
    drop_duplicate_owners,
    fill_changed,
    fill_new,
    metadata_errors,
)
from kinepy_server.objects.uids import new_uid
from kinepy_server.resources.resource import FieldError, JsonObject, Resource
from kinepy_server.writes.outcome import Remove, Write


def prepare_new(
    resource: Resource,
    obj: JsonObject,
    writer: Writer,
    *,
    warnings: list[str],
    applied: list[Entry] | None = None,
    admit: Admit | None = None,
) -> bytes:
    """The value of a new object; `obj` is changed. Raises 422, and the 403 of `admit`.

    `applied` are its managers, if apply found them.
    """
    strategy = resource.strategy
    metadata = obj["metadata"]
    _settle_owners(metadata, warnings)
    strategy.default(obj)
    # Before the type's own preparations: what those add is nobody's.
    if applied is None:
        tracked = _without_status(obj) if "status" in resource.subresources else obj
        track_update(tracked, None, writer=writer)
    else:
        metadata["managedFields"] = applied
    fill_new(metadata, uid=new_uid(), now=writer.now)
    if admit is not None:
        admit(obj)
    strategy.prepare_create(obj)
    if resource.has_generation:
        metadata["generation"] = 1
    errors = metadata_errors(resource, metadata)
    errors += strategy.validate_create(obj)
    if errors:
        refuse(resource, obj, errors, warnings=warnings)
    if resource.cautions is not None:
        warnings.extend(resource.cautions(obj, None))
    return encode(resource, obj)


def prepare_changed(
    resource: Resource,
    new: JsonObject,
    old: JsonObject,
    *,
    writer: Writer,
    warnings: list[str],
    applied: list[Entry] | None = None,
) -> Write | Remove:
    """The value of a changed object, or its removal when nothing holds it any more. Raises 422.

    `applied` are the managers of the changed object, if apply found them.
    """
    strategy = resource.strategy
    metadata, stored = new["metadata"], old["metadata"]
    _settle_owners(metadata, warnings)
    strategy.default(new)
    fill_changed(metadata, stored)
    before = dict(metadata)
    strategy.prepare_update(new, old, subresource=writer.subresource)
    if applied is None:
        track_update(new, old, writer=writer)
    else:
        reset = frozenset(name for name, value in before.items() if metadata.get(name) != value)
        metadata["managedFields"] = settled(disowned(applied, reset, writer=writer), new, old)
    # The original checks these in two places, and its answer shows both.
    changed = changed_metadata_errors(metadata, stored)
    errors = [*changed, *changed, *metadata_errors(resource, metadata)]
    errors += strategy.validate_update(new, old, subresource=writer.subresource)
    if errors:
        refuse(resource, new, errors, warnings=warnings)
    if resource.cautions is not None:
        warnings.extend(resource.cautions(new, old))
    value = encode(resource, new)
    if "deletionTimestamp" in stored and not lifecycle_of(resource).held(new):
        return Remove(value)
    return Write(value)


def prepare_again(
    resource: Resource, new: JsonObject, old: JsonObject | None, *, subresource: str
) -> Write | Remove:
    """The value of an object that webhooks have changed after it was prepared. Raises 422."""
    strategy, metadata = resource.strategy, new["metadata"]
    strategy.default(new)
    if old is None:
        strategy.prepare_create(new)
        if resource.has_generation:
            metadata["generation"] = 1
        errors = [*metadata_errors(resource, metadata), *strategy.validate_create(new)]
    else:
        fill_changed(metadata, old["metadata"])
        strategy.prepare_update(new, old, subresource=subresource)
        errors = [*changed_metadata_errors(metadata, old["metadata"]), *metadata_errors(resource, metadata)]
        errors += strategy.validate_update(new, old, subresource=subresource)
    if errors:
        # Its writer has been warned before.
        refuse(resource, new, errors, warnings=[])
    value = encode(resource, new)
    if old is not None and "deletionTimestamp" in old["metadata"] and not lifecycle_of(resource).held(new):
        return Remove(value)
    return Write(value)


def _without_status(obj: JsonObject) -> JsonObject:
    return {name: value for name, value in obj.items() if name != "status"}


def refuse(resource: Resource, obj: JsonObject, errors: Iterable[FieldError], *, warnings: list[str]) -> None:
    """Raise the 422 of an object with errors; what is none is added to the warnings."""
    causes = []
    for error in errors:
        if error.reason:
            causes.append(error)
        else:
            warnings.append(error.warning)
    if causes:
        raise invalid_object(resource, obj, causes)


def invalid_object(resource: Resource, obj: JsonObject, errors: Iterable[FieldError]) -> StatusError:
    """422 for an object. As in the original the group is that of the type which is stored."""
    group = resource.storage_api_version.rpartition("/")[0]
    name = obj["metadata"].get("name", "")
    return invalid(resource.kind, group, name, causes=causes_of(errors))


def causes_of(errors: Iterable[FieldError]) -> Sequence[Cause]:
    """Field errors as causes of a Status."""
    return [Cause(error.reason, error.text, error.field) for error in errors]


def _settle_owners(metadata: JsonObject, warnings: list[str]) -> None:
    if "ownerReferences" in metadata:
        warning = drop_duplicate_owners(metadata)
        if warning:
            warnings.append(warning)
