"""Volumes and claims: a new one is pending."""

from collections.abc import Mapping

from kinepy_server.resources.resource import JsonObject
from kinepy_server.resources.strategies.typed import Hooks


def _pending(obj: JsonObject) -> None:
    obj["status"]["phase"] = "Pending"


HOOKS: Mapping[str, Hooks] = {
    "v1.PersistentVolume": Hooks(create=_pending),
    "v1.PersistentVolumeClaim": Hooks(create=_pending),
}
