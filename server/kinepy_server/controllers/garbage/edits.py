"""What the garbage collector changes in objects. Pure: each edit changes the object and says whether it did."""

from collections.abc import Collection

from kinepy_server.controllers.changing import Edit
from kinepy_server.resources.resource import JsonObject


def without_owners(uids: Collection[str]) -> Edit:
    """Drop the references to some owners."""

    def edit(obj: JsonObject) -> bool:
        metadata = obj["metadata"]
        references = metadata.get("ownerReferences") or []
        left = [reference for reference in references if reference.get("uid") not in uids]
        if left:
            metadata["ownerReferences"] = left
        else:
            metadata.pop("ownerReferences", None)
        return len(left) < len(references)

    return edit


def unblocked(obj: JsonObject) -> bool:
    """Let no owner wait for the object any more."""
    blocking = [one for one in obj["metadata"].get("ownerReferences") or () if one.get("blockOwnerDeletion")]
    for reference in blocking:
        reference["blockOwnerDeletion"] = False
    return bool(blocking)


def without_finalizer(name: str) -> Edit:
    """Drop a finalizer."""

    def edit(obj: JsonObject) -> bool:
        metadata = obj["metadata"]
        finalizers = metadata.get("finalizers") or []
        if name not in finalizers:
            return False
        left = [one for one in finalizers if one != name]
        if left:
            metadata["finalizers"] = left
        else:
            metadata.pop("finalizers", None)
        return True

    return edit
