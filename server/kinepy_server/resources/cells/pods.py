"""The cells of a Pod: what its containers are doing, in one word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kinepy_server.resources.cells.common import NONE, age, condition, name
from kinepy_server.resources.durations import since
from kinepy_server.resources.resource import JsonObject

COMPLETED = {"Succeeded", "Failed"}


@dataclass(slots=True)
class _Summary:
    reason: str
    ready: int = 0
    total: int = 0
    restarts: int = 0
    restarted: str = ""

    def saw(self, status: JsonObject) -> None:
        """Count the restarts of a container."""
        self.restarts += status.get("restartCount", 0)
        ended = ((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
        if ended and ended > self.restarted:
            self.restarted = ended


def pod(obj: JsonObject, now: float) -> Sequence[Any]:
    """Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    summary = _summarized(obj, spec, status)
    restarts = str(summary.restarts)
    if summary.restarts and summary.restarted:
        restarts = f"{restarts} ({since(summary.restarted, now)} ago)"
    ips = status.get("podIPs") or ()
    address = (ips[0].get("ip") if ips else status.get("podIP")) or NONE
    return (
        name(obj, now),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        restarts,
        age(obj, now),
        address,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    )


def pod_conditions(obj: JsonObject) -> Sequence[Mapping[str, str]] | None:
    """The row of a pod that has ended says so."""
    phase = (obj.get("status") or {}).get("phase")
    return [{"type": "Completed", "status": "True", "reason": phase}] if phase in COMPLETED else None


def _summarized(obj: JsonObject, spec: JsonObject, status: JsonObject) -> _Summary:
    summary = _Summary(status.get("reason") or status.get("phase", ""))
    gated = condition(status.get("conditions"), "PodScheduled")
    if gated is not None and gated.get("reason") == "SchedulingGated":
        summary.reason = "SchedulingGated"
    sidecars = {c["name"] for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    summary.total = len(spec.get("containers") or ()) + len(sidecars)
    if not _initializing(summary, spec, status, sidecars=sidecars) or _initialized(status):
        _running(summary, status)
    if obj["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            summary.reason = "Unknown"
        elif status.get("phase") not in COMPLETED:
            summary.reason = "Terminating"
    return summary


def _initialized(status: JsonObject) -> bool:
    found = condition(status.get("conditions"), "Initialized")
    return found is not None and found.get("status") == "True"


def _initializing(summary: _Summary, spec: JsonObject, status: JsonObject, *, sidecars: set[str]) -> bool:
    """Go over the init containers; whether one of them is what the pod waits for."""
    for index, one in enumerate(status.get("initContainerStatuses") or ()):
        summary.saw(one)
        terminated = (one.get("state") or {}).get("terminated")
        waiting = (one.get("state") or {}).get("waiting")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if one.get("name") in sidecars and one.get("started"):
            summary.ready += bool(one.get("ready"))
            continue
        if terminated is not None:
            summary.reason = f"Init:{_ended(terminated)}"
        elif waiting is not None and waiting.get("reason") not in (None, "", "PodInitializing"):
            summary.reason = f"Init:{waiting['reason']}"
        else:
            summary.reason = f"Init:{index}/{len(spec.get('initContainers') or ())}"
        return True
    return False


def _ended(terminated: JsonObject) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _running(summary: _Summary, status: JsonObject) -> None:
    is_running = False
    restarts, restarted = summary.restarts, summary.restarted
    only = _Summary("")
    for one in reversed(status.get("containerStatuses") or ()):
        only.saw(one)
        state = one.get("state") or {}
        waiting, terminated = state.get("waiting"), state.get("terminated")
        if waiting is not None and waiting.get("reason"):
            summary.reason = waiting["reason"]
        elif terminated is not None:
            summary.reason = _ended(terminated)
        elif one.get("ready") and state.get("running") is not None:
            is_running = True
            summary.ready += 1
    # Restarts of init containers count only while they are what the pod waits for, those of sidecars always.
    summary.restarts, summary.restarted = restarts + only.restarts, max(restarted, only.restarted)
    if summary.reason == "Completed" and is_running:
        ready = condition(status.get("conditions"), "Ready")
        summary.reason = "Running" if ready is not None and ready.get("status") == "True" else "NotReady"


def _gates(spec: JsonObject, status: JsonObject) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    conditions = status.get("conditions")
    passed = sum(
        1
        for gate in gates
        if (found := condition(conditions, gate.get("conditionType", ""))) and found.get("status") == "True"
    )
    return f"{passed}/{len(gates)}"


def seconds_between(start: str, end: str) -> float:
    """The span between two timestamps."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
