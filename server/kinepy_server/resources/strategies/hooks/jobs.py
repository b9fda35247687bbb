"""Jobs: their pods carry the job's name and uid, and are selected by it."""

from collections.abc import Mapping

from kinepy_server.resources.resource import JsonObject
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


HOOKS: Mapping[str, Hooks] = {"batch.v1.Job": Hooks(create=_create)}
