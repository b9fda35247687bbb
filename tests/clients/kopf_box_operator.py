"""An operator of a custom resource with everything that kopf offers; it prints what it is told."""

from typing import Any

import kopf

BOXES = ("kinepy.test", "v1", "boxes")


def say(*words: object) -> None:
    """One line for the test."""
    print(*words, flush=True)


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """With peering, without waiting for long when the server comes back."""
    settings.networking.error_backoffs = [0.2] * 50
    settings.watching.reconnect_backoff = 0.1
    settings.peering.mandatory = True
    # Keep-alives are written every second or so: some of them after the restart and the compaction.
    settings.peering.lifetime = 8


@kopf.index(*BOXES)
def sizes(name: str, spec: kopf.Spec, **_: Any) -> dict[str, int]:
    """What each of them wants."""
    return {name: spec["size"]}


@kopf.on.create(*BOXES)
async def created(
    name: str, spec: kopf.Spec, body: kopf.Body, patch: kopf.Patch, **others: Any
) -> dict[str, int]:
    """A new one: what is returned and what is patched go to its status, and an Event tells of it."""
    kopf.info(body, reason="Seen", message="It is there")
    patch.status["phase"] = "Made"
    say("create", name, spec["size"], *sorted(others["sizes"]))
    return {"size": spec["size"]}


@kopf.on.update(*BOXES)
async def updated(name: str, diff: kopf.Diff, **_: Any) -> None:
    """Any change of it."""
    say("update", name, *sorted(".".join(item.field) for item in diff))


@kopf.on.field(*BOXES, field="spec.size")
async def resized(name: str, old: Any, new: Any, patch: kopf.Patch, **_: Any) -> None:
    """A change of its size, or its first one."""
    patch.status["resized"] = f"{old} to {new}"
    say("field", name, old, new)


@kopf.on.resume(*BOXES)
async def resumed(name: str, status: kopf.Status, **_: Any) -> None:
    """One that was there when the operator began."""
    say("resume", name, status.get("phase"))


@kopf.on.delete(*BOXES)
async def deleted(name: str, **_: Any) -> None:
    """It is going; the finalizer is kopf's."""
    say("delete", name)


@kopf.timer(*BOXES, interval=0.2, labels={"timed": kopf.PRESENT})
async def ticked(name: str, status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
    """Count to three in its status."""
    ticks = int(status.get("ticks", 0))
    if ticks < 3:
        patch.status["ticks"] = ticks + 1
        say("tick", name, ticks + 1)


@kopf.daemon(*BOXES, labels={"attended": kopf.PRESENT}, cancellation_polling=0.1)
async def attended(name: str, stopped: kopf.DaemonStopped, **_: Any) -> None:
    """Stay with it until it goes."""
    say("daemon", name)
    await stopped.wait()
    say("daemon ends", name)
