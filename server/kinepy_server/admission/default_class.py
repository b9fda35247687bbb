"""Classes of claims and ingresses that say nothing: the one that is marked as the default."""

from collections.abc import Callable, Sequence

from kinepy_server.admission.stored import stored_objects
from kinepy_server.context import Context
from kinepy_server.errors import forbidden
from kinepy_server.resources.resource import JsonObject, Resource

STORAGE_MARKS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
INGRESS_MARKS = ("ingressclass.kubernetes.io/is-default-class",)
OLD_STORAGE, OLD_INGRESS = "volume.beta.kubernetes.io/storage-class", "kubernetes.io/ingress.class"


async def claim_class(
    context: Context, resource: Resource, obj: JsonObject
) -> Callable[[JsonObject], None] | None:
    """Gives claims the newest default StorageClass."""
    found = await stored_objects(context, ("storage.k8s.io", "v1", "storageclasses"))
    defaults = _marked(found, STORAGE_MARKS)
    if not defaults:
        return None
    newest = sorted(defaults, key=lambda one: one["metadata"]["name"])
    newest.sort(key=lambda one: str(one["metadata"].get("creationTimestamp", "")), reverse=True)
    name = newest[0]["metadata"]["name"]

    def admit(claim: JsonObject) -> None:
        if claim["spec"].get("storageClassName") is None and not _annotated(claim, OLD_STORAGE):
            claim["spec"]["storageClassName"] = name

    return admit


async def ingress_class(
    context: Context, resource: Resource, obj: JsonObject
) -> Callable[[JsonObject], None] | None:
    """Gives ingresses the default IngressClass; more than one is refused."""
    defaults = _marked(
        await stored_objects(context, ("networking.k8s.io", "v1", "ingressclasses")), INGRESS_MARKS
    )
    if not defaults:
        return None

    def admit(ingress: JsonObject) -> None:
        if ingress["spec"].get("ingressClassName") is not None or _annotated(ingress, OLD_INGRESS):
            return
        if len(defaults) > 1:
            why = f"{len(defaults)} default IngressClasses were found, only 1 allowed"
            raise forbidden(resource, ingress["metadata"].get("name", ""), why)
        ingress["spec"]["ingressClassName"] = defaults[0]["metadata"]["name"]

    return admit


def _marked(classes: Sequence[JsonObject], marks: Sequence[str]) -> list[JsonObject]:
    return [one for one in classes if any(_annotated(one, mark) == "true" for mark in marks)]


def _annotated(obj: JsonObject, key: str) -> str:
    found: str = (obj["metadata"].get("annotations") or {}).get(key, "")
    return found
