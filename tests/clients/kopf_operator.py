"""An operator of ConfigMaps with everything that kopf offers; it prints what it is told."""

from typing import Any

import kopf

LABELS = {"watched": kopf.PRESENT}


def say(*words: object) -> None:
    """One line for the test."""
    print(*words, flush=True)


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Without waiting for long when the server comes back."""
    settings.networking.error_backoffs = [0.2] * 50
    settings.watching.reconnect_backoff = 0.1


@kopf.index("configmaps", labels=LABELS)
def values(name: str, body: kopf.Body, **_: Any) -> dict[str, str]:
    """What each of them holds."""
    return {name: body["data"]["v"]}


@kopf.on.create("configmaps", labels=LABELS)
async def created(name: str, body: kopf.Body, **others: Any) -> None:
    """A new one: an Event is posted about it."""
    kopf.info(body, reason="Seen", message="It is there")
    say("create", name, body["data"]["v"], *sorted(others["values"]))


@kopf.on.update("configmaps", field="data.v", labels=LABELS)
async def updated(name: str, old: Any, new: Any, **_: Any) -> None:
    """A change of its value."""
    say("update", name, old, new)


@kopf.on.resume("configmaps", labels=LABELS)
async def resumed(name: str, **_: Any) -> None:
    """One that was there when the operator began."""
    say("resume", name)


@kopf.on.delete("configmaps", labels=LABELS)
async def deleted(name: str, **_: Any) -> None:
    """It is going; the finalizer is kopf's."""
    say("delete", name)


@kopf.timer("configmaps", interval=0.2, labels={"timed": kopf.PRESENT})
async def ticked(name: str, patch: kopf.Patch, body: kopf.Body, **_: Any) -> None:
    """Count to three in the object."""
    ticks = int(body["data"].get("ticks", "0"))
    if ticks < 3:
        patch.setdefault("data", {})["ticks"] = str(ticks + 1)
        say("tick", name, ticks + 1)


@kopf.daemon("configmaps", labels={"attended": kopf.PRESENT}, cancellation_polling=0.1)
async def attended(name: str, stopped: kopf.DaemonStopped, **_: Any) -> None:
    """Stay with it until it goes."""
    say("daemon", name)
    await stopped.wait()
    say("daemon ends", name)
