"""Defaults of pods, their containers and volumes."""

from collections.abc import Callable, Mapping

from kinepy_server.resources.resource import JsonObject

VOLUME_NAME_ONLY = frozenset(("name",))


def pull_policy(image: str) -> str:
    """What is pulled again each time: images without a tag or digest, and those tagged `latest`."""
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _container(container: JsonObject) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))


def _image_volume(source: JsonObject) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = pull_policy(source.get("reference", ""))


def _volume(volume: JsonObject) -> None:
    if volume.keys() <= VOLUME_NAME_ONLY:
        volume["emptyDir"] = {}


def _spec(spec: JsonObject) -> None:
    # The older name of the same field always shows the newer one's value.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _pod(pod: JsonObject) -> None:
    spec = pod["spec"]
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        _request_limits(container)
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort", 0))


def _request_limits(container: JsonObject) -> None:
    """What is limited is requested as well, unless something else is."""
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


COMPUTED: Mapping[str, Callable[[JsonObject], None]] = {
    "v1.Container": _container,
    "v1.EphemeralContainer": _container,
    "v1.ImageVolumeSource": _image_volume,
    "v1.Pod": _pod,
    "v1.PodSpec": _spec,
    "v1.Volume": _volume,
}
