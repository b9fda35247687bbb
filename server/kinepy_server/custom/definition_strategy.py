"""What a CustomResourceDefinition does besides what all types do (CRD-1..4)."""

from collections.abc import Sequence

from kinepy_server.custom.definition_checks import changed_definition_errors, definition_errors
from kinepy_server.resources.resource import FieldError, JsonObject

_PORT = 443


class DefinitionStrategy:
    """See `Strategy` for what each method is asked."""

    def default(self, new: JsonObject) -> None:
        """Names that follow from others, no conversion."""
        spec = new.setdefault("spec", {})
        names = spec.setdefault("names", {"plural": "", "kind": ""})
        kind = names.get("kind") or ""
        if not names.get("singular") and kind:
            names["singular"] = kind.lower()
        if not names.get("listKind") and kind:
            names["listKind"] = f"{kind}List"
        conversion = spec.setdefault("conversion", {"strategy": "None"})
        if not conversion.get("strategy"):
            conversion["strategy"] = "None"
        service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", _PORT)

    def prepare_create(self, new: JsonObject) -> None:
        """The status is the server's."""
        stored = [one["name"] for one in new["spec"].get("versions") or () if one.get("storage")][:1]
        new["status"] = {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None}
        new["status"]["storedVersions"] = stored or None

    def prepare_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> None:
        """The status is written through its own endpoint; a new storage version is remembered."""
        if subresource == "status":
            new["spec"] = old["spec"]
            return
        new["status"] = old.get("status") or {}
        stored = list(new["status"].get("storedVersions") or ())
        for version in new["spec"].get("versions") or ():
            if version.get("storage") and version["name"] not in stored:
                new["status"] = {**new["status"], "storedVersions": [*stored, version["name"]]}
                break
        if new["spec"] != old["spec"]:
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate_create(self, new: JsonObject) -> Sequence[FieldError]:
        """All rules of definitions."""
        return definition_errors(new)

    def validate_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> Sequence[FieldError]:
        """The rules, and what may not change."""
        if subresource == "status":
            return ()
        return changed_definition_errors(new, old)
