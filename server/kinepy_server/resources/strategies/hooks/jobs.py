"""Jobs: their pods carry the job's name and uid, and are selected by it."""

from collections.abc import Mapping, Sequence

from kinepy_server.resources.checks.causes import invalid, path_of
from kinepy_server.resources.checks.fixed import IMMUTABLE
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.typed import Hooks

UID_LABEL, NAME_LABEL = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
OLD_UID_LABEL, OLD_NAME_LABEL = "controller-uid", "job-name"


def _create(job: JsonObject) -> None:
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    template = spec["template"].setdefault("metadata", {})
    labels = template.setdefault("labels", {})
    uid, name = metadata["uid"], metadata.get("name", "")
    labels.update({UID_LABEL: uid, OLD_UID_LABEL: uid, NAME_LABEL: name, OLD_NAME_LABEL: name})
    selected = spec.get("selector") or {}
    spec["selector"] = {**selected, "matchLabels": {**(selected.get("matchLabels") or {}), UID_LABEL: uid}}
    # A job without labels of its own has those of its pods.
    if not metadata.get("labels"):
        metadata["labels"] = dict(labels)


def _update(new: JsonObject, old: JsonObject) -> None:
    """A client that leaves out what was generated does not mean to remove it."""
    if new["spec"].get("selector") is None and old["spec"].get("selector") is not None:
        new["spec"]["selector"] = old["spec"]["selector"]


def _fixed(new: JsonObject, old: JsonObject) -> Sequence[FieldError]:
    spec, stored = new["spec"], old["spec"]
    errors = []
    changes = spec.get("completions") != stored.get("completions")
    if changes and not _may_resize(spec, stored):
        errors.append(invalid(path_of("spec.completions"), spec.get("completions"), IMMUTABLE))
    if spec.get("template") != stored.get("template") and not _may_move(spec, stored, old):
        errors.append(invalid(path_of("spec.template"), spec.get("template"), IMMUTABLE))
    return errors


def _may_resize(spec: JsonObject, stored: JsonObject) -> bool:
    """An indexed job may grow and shrink, as long as it runs as many pods as it has indexes."""
    indexed = stored.get("completionMode") == "Indexed" and spec.get("completions") is not None
    return indexed and spec.get("completions") == spec.get("parallelism")


def _may_move(spec: JsonObject, stored: JsonObject, old: JsonObject) -> bool:
    """Where the pods of a suspended job that never ran are to run may still change."""
    if not stored.get("suspend") or (old.get("status") or {}).get("startTime"):
        return False
    return _without_placement(spec["template"]) == _without_placement(stored["template"])


def _without_placement(template: JsonObject) -> JsonObject:
    pod = {name: value for name, value in template["spec"].items() if name not in _PLACEMENT}
    metadata = {
        n: v for n, v in (template.get("metadata") or {}).items() if n not in ("annotations", "labels")
    }
    return {**template, "metadata": metadata, "spec": pod}


_PLACEMENT = frozenset(("affinity", "nodeSelector", "schedulingGates", "tolerations"))

HOOKS: Mapping[str, Hooks] = {
    "batch.v1.Job": Hooks(create=_create, update=_update, check_update=_fixed),
}
