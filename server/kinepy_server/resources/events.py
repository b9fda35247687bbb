"""Events: one stored form (core/v1), shown in two groups under different names."""

from kinepy_server.resources.resource import JsonObject

CORE_VERSION, EVENTS_VERSION = "v1", "events.k8s.io/v1"

RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
BACK = {new: old for old, new in RENAMED.items()}
ALWAYS_IN_CORE = {"reportingComponent": "", "reportingInstance": "", "involvedObject": {}, "source": {}}
"""Fields that core shows even when they are empty; events.k8s.io leaves out empty texts."""
ALWAYS_IN_EVENTS = ("regarding", "deprecatedSource")


def from_core(obj: JsonObject) -> JsonObject:
    """A core Event as an events.k8s.io one. `obj` stays as it is, nested values are shared."""
    new: JsonObject = {RENAMED.get(name, name): value for name, value in obj.items()}
    new["apiVersion"] = EVENTS_VERSION
    for name in ("reportingController", "reportingInstance", "note"):
        if new.get(name) == "":
            del new[name]
    for name in ALWAYS_IN_EVENTS:
        if name not in new:
            new[name] = {}
    return new


def to_core(obj: JsonObject) -> JsonObject:
    """An events.k8s.io Event as the core one that is stored. `obj` stays as it is, nested values are shared."""
    new: JsonObject = {BACK.get(name, name): value for name, value in obj.items()}
    new["apiVersion"] = CORE_VERSION
    for name, empty in ALWAYS_IN_CORE.items():
        if name not in new:
            new[name] = empty if isinstance(empty, str) else {}
    return new
