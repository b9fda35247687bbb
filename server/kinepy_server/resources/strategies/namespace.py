"""Namespace: its finalizer, phase and name label."""

from collections.abc import Sequence

from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.namespace_rules import finalizer_errors, status_errors
from kinepy_server.resources.strategies.plain import PlainStrategy

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"


class NamespaceStrategy(PlainStrategy):
    """Rules of Namespaces. The finalizers of the spec change through `/finalize` only, the status through `/status`."""

    def default(self, new: JsonObject) -> None:
        """A namespace has the label with its own name, a spec and a phase."""
        _label(new)
        new.setdefault("spec", {})
        if not new.setdefault("status", {}).get("phase"):
            new["status"]["phase"] = "Active"

    def prepare_create(self, new: JsonObject) -> None:
        """A new namespace is Active and holds the finalizer `kubernetes`."""
        _label(new)
        new["status"] = {"phase": "Active"}
        finalizers = new.setdefault("spec", {}).setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)

    def prepare_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> None:
        """Each endpoint changes its own part."""
        if subresource != "status":
            new["status"] = old.get("status", {})
        if subresource != "finalize":
            new["spec"] = old.get("spec", {})

    def validate_create(self, new: JsonObject) -> Sequence[FieldError]:
        """Finalizers are qualified names."""
        return finalizer_errors(new["spec"].get("finalizers") or (), indexed=False)

    def validate_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> Sequence[FieldError]:
        """The phase says whether the namespace is being deleted."""
        match subresource:
            case "status":
                return status_errors(new)
            case "finalize":
                return finalizer_errors(new["spec"].get("finalizers") or (), indexed=True)
            case _:
                return self.validate_create(new)


def _label(new: JsonObject) -> None:
    name = new["metadata"].get("name")
    if name:
        new["metadata"].setdefault("labels", {})[NAME_LABEL] = name
