"""Controllers are looked after: one that fails begins anew, all end with the server, figures tell what they do."""

import asyncio
import logging
from dataclasses import dataclass, field
from types import CodeType

import pytest

from kinepy import KeyRange
from kinepy.clock import SystemClock
from kinepy_server.context import Context
from kinepy_server.controllers import ALL_CONTROLLERS, running, running_controllers
from kinepy_server.controllers.leadership import PREFIX
from kinepy_server.metrics_controllers import ControllerMetrics, controller_families


@dataclass
class Failing:
    """A controller that fails a few times, then works."""

    errors: list[Exception]
    works: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, context: Context) -> None:
        if self.errors:
            raise self.errors.pop()
        self.works.set()
        await asyncio.Event().wait()


class Impatient(SystemClock):
    """A clock by which no pause takes time."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


async def test_a_controller_that_fails_begins_anew(
    context: Context, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing = Failing([ValueError("one"), ValueError("two")])
    monkeypatch.setattr(running, "CONTROLLERS", {"events": failing})
    context.clock = Impatient()
    with caplog.at_level(logging.CRITICAL, "kinepy.controllers"):
        async with running_controllers(context, ["events"]):
            await asyncio.wait_for(failing.works.wait(), 20)
            assert context.controllers.leading["events"]
    assert context.controllers.errors["events"] == 2
    assert not context.controllers.leading["events"]


def server_tasks() -> set[asyncio.Task[object]]:
    """The tasks but for those of the drivers below, which copy the log when they like, and end what they began."""
    return {task for task in asyncio.all_tasks() if "/kinepy/drivers/" not in code_of(task)}


def code_of(task: asyncio.Task[object]) -> str:
    """Where the code of a task stands."""
    code = getattr(task.get_coro(), "cr_code", None)
    return code.co_filename if isinstance(code, CodeType) else ""


async def test_nothing_of_them_is_left_when_the_server_ends(context: Context) -> None:
    before = server_tasks()
    async with running_controllers(context, ALL_CONTROLLERS):
        async with context.store.watch(KeyRange.prefix(PREFIX)) as watch:
            while (await context.store.count(KeyRange.prefix(PREFIX))).count < len(ALL_CONTROLLERS) - 1:
                await watch.next(timeout_s=1)
        assert len(await context.store.leases()) == 1
    assert server_tasks() <= before
    assert await context.store.leases() == []
    assert (await context.store.count(KeyRange.prefix(PREFIX))).count == 0


def test_figures_tell_what_is_done() -> None:
    metrics = ControllerMetrics()
    metrics.did("events", "delete")
    metrics.did("events", "delete")
    metrics.failed("namespaces")
    metrics.leading["events"] = True
    metrics.pending["events"] = 3
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in controller_families(metrics)
        for sample in family.samples
    }
    assert samples == {
        ("kinepy_controller_leading", "events"): 1,
        ("kinepy_controller_actions_total", "events", "delete"): 2,
        ("kinepy_controller_errors_total", "namespaces"): 1,
        ("kinepy_controller_pending", "events"): 3,
    }
