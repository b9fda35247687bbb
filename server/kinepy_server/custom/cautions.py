"""What writers of definitions and of custom objects are warned of (CRD-16, CRD-25)."""

from collections.abc import Sequence

from kinepy_server.custom.schema_checks import unknown_formats
from kinepy_server.resources.resource import JsonObject
from kinepy_server.resources.strategies.keys import quoted

_STANDARD = frozenset(("foregroundDeletion", "orphan", "kubernetes"))


def finalizer_cautions(new: JsonObject, old: JsonObject | None) -> Sequence[str]:
    """New finalizers whose names others may use too."""
    names = new["metadata"].get("finalizers")
    if not names:
        return ()
    known = (old["metadata"].get("finalizers") or ()) if old is not None else ()
    return [
        f"metadata.finalizers: {quoted(name)}: prefer a domain-qualified finalizer name to avoid accidental conflicts"
        " with other finalizer writers"
        for name in names
        if name not in known and name not in _STANDARD and "/" not in name
    ]


def definition_cautions(new: JsonObject, old: JsonObject | None) -> Sequence[str]:
    """Formats that say nothing here."""
    found: dict[str, None] = {}
    if old is None or new["spec"] != old["spec"]:
        for version in new["spec"].get("versions") or ():
            schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
            found.update((f"unrecognized format {quoted(name)}", None) for name in unknown_formats(schema))
    return list(found)
