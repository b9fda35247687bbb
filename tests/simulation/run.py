"""One run of the simulation from one seed: build, strike, calm down, judge."""

import asyncio
import gc
import logging
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from kinepy import KeyRange, Revision, Settings
from kinepy.check import check
from kinepy.errors import WriteOutcomeUnknown
from kinepy.retention import Retention, parse_rules
from tests.simulation.cluster import Cluster, OpenDriver, OpenStore, open_driver, open_real_store
from tests.simulation.database import MANAGED, POSTGRES, SQLITE, Mode, SimDatabase
from tests.simulation.faults import ConnectionBroke, Fault, Faults, pick_faults
from tests.simulation.history import Compact, History, List, Revoke
from tests.simulation.loop import Deadlock, Endless, SimLoop
from tests.simulation.mirrors import MirrorHolder
from tests.simulation.nemesis import Nemesis
from tests.simulation.reference import Reference, Violation
from tests.simulation.trace import Trace
from tests.simulation.validate import judge_calls
from tests.simulation.validate_end import (
    converged,
    followed,
    p7_floors,
    p7_nothing_left,
    p7_still_there,
    p8_leases,
    p8_none_left,
)
from tests.simulation.validate_watch import judge_watches
from tests.simulation.watchers import Watcher
from tests.simulation.witness import Witnesses
from tests.simulation.workload import (
    LEASE_TTL_S_MAX,
    Client,
    Compactor,
    LeaseHolder,
    Lister,
    Poller,
    Writer,
    settings_of,
)

STEPS_MAX: Final = 400_000
CONVERGE_S_MAX: Final = 600.0
SHARED_MEMORY: Final = Path("/dev/shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run consists of. The default is the real thing; the harness's own tests break parts of it."""

    open_store: OpenStore = open_real_store
    open_driver: OpenDriver = open_driver
    settings: dict[str, Any] = field(default_factory=dict)
    faults: frozenset[Fault] | None = None
    length: int = 1
    """how many times as much as usual clients do"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of one run."""

    seed: int
    length: int
    violations: list[Violation]
    trace_hash: str
    lines: list[str]
    steps: int
    commits: int
    calls: int
    deliveries: int
    faults: dict[Fault, int]
    unknown_writes: int
    """answers of living nodes that left the fate of a write open"""
    kinds: frozenset[Fault]
    """which faults might strike"""
    met: Mapping[str, int]
    """how often clients met each error, as an answer or as the end of a watch"""

    def __str__(self) -> str:
        told = "\n".join(f"  {violation}" for violation in self.violations[:10])
        replay = f"python -m tests.simulation --seed {self.seed} --trace"
        if self.length > 1:
            replay += f" --length {self.length}"
        return f"seed {self.seed} broke a promise; {replay}\n{told}"


def simulate(seed: int, plan: Plan | None = None, *, trace: bool = False) -> Report:
    """Run one seed. Never raises: what goes wrong is a violation."""
    run = Run(seed, plan or Plan(), trace=trace)
    return run.execute()


class Errors(logging.Handler):
    """What the product logs as an error is a violation: nothing in a run may be beyond its expectations."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(logging.ERROR)
        self._reference = reference

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._reference.broken("P9 bad input", f"logged: {record.getMessage()} {error!r}")


class Run:
    """The parts of one run."""

    def __init__(self, seed: int, plan: Plan, *, trace: bool) -> None:
        self.seed, self.plan = seed, plan
        self.random = Random(seed)
        self.loop = SimLoop(Random(f"{seed} schedule"), steps_max=STEPS_MAX * plan.length)
        self.trace = Trace(self.loop.time, echo=trace)
        self.reference = Reference([])
        self.history = History(self.reference, self.trace, self.loop.time)
        kinds = pick_faults(self.random) if plan.faults is None else plan.faults
        self.faults = Faults(self.loop, Random(f"{seed} faults"), kinds, self.trace)
        self.settings: Settings = replace(settings_of(self.random), **plan.settings)
        self.rules = parse_rules(self.settings.retention, default=Retention())
        self.history.prefixes = tuple(self.rules)
        self.history.spared = tuple(prefix for prefix, rule in self.rules.items() if rule.forever)
        self.watchers: list[Watcher | MirrorHolder] = []
        self.reads: list[object] = []

    def execute(self) -> Report:
        """Run to the end and judge."""
        folder = Path(tempfile.mkdtemp(prefix="kinepy-sim-", dir=_scratch()))
        try:
            with self._quiet():
                self.loop.run_until_complete(self._main(folder))
        except Exception as error:
            self.trace("".join(traceback.format_exception(error)))
            self.reference.broken("P10 bounds", f"the run ended with {type(error).__name__}: {error}")
        finally:
            self._discard()
            shutil.rmtree(folder)
        self._judge()
        deliveries = sum(len(session.deliveries) for session in self.history.sessions)
        return Report(
            seed=self.seed,
            length=self.plan.length,
            violations=self.reference.violations,
            trace_hash=self.trace.hash,
            lines=self.trace.lines,
            steps=self.loop.steps,
            commits=len(self.reference.commits),
            calls=len(self.history.calls),
            deliveries=deliveries,
            faults=self.faults.count,
            unknown_writes=sum(
                isinstance(call.result, WriteOutcomeUnknown) and not isinstance(call.request, Compact)
                for call in self.history.calls
            ),
            kinds=self.faults.kinds,
            met=self._met(),
        )

    def _met(self) -> Counter[str]:
        ends: list[object] = [call.result for call in self.history.calls]
        ends += [session.ended for session in self.history.sessions]
        return Counter(type(end).__name__ for end in ends if isinstance(end, Exception))

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Keep the garbage collector's moments out of the schedule, and the product's log to ourselves."""
        logger, handler = logging.getLogger("kinepy"), Errors(self.reference)
        propagate, logger.propagate = logger.propagate, False
        logger.addHandler(handler)
        collecting = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collecting:
                gc.enable()
            logger.removeHandler(handler)
            logger.propagate = propagate

    def _discard(self) -> None:
        """A run that was broken off leaves tasks behind; nobody is to hear of them."""
        self.faults.active = False
        self.loop.set_exception_handler(lambda loop, context: None)
        self.loop.thaw_all()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            task.cancel()
        if tasks:
            self.loop.steps = 0
            try:
                self.loop.run_until_complete(asyncio.wait(tasks, timeout=100.0))
            except (Deadlock, Endless):
                pass
        self.loop.close()

    # --- the run

    async def _main(self, folder: Path) -> None:
        mode = self.random.choice((SQLITE, SQLITE, POSTGRES, POSTGRES, POSTGRES, MANAGED))
        self.trace(f"seed {self.seed}: {mode.name}, {sorted(kind.name for kind in self.faults.kinds)}")
        database = SimDatabase(
            folder, mode, loop=self.loop, faults=self.faults, trace=self.trace, reference=self.reference
        )
        cluster = Cluster(
            database,
            self.settings,
            loop=self.loop,
            random=Random(f"{self.seed} cluster"),
            seed=self.seed,
            witnesses=self._witnesses(folder, mode),
            open_store=self.plan.open_store,
            open_driver=self.plan.open_driver,
        )
        try:
            cluster.add(1 if mode is MANAGED else self.random.choice((1, 2, 3, 3)))
            await self._storm(cluster)
            await self._calm(cluster)
            await cluster.stop()
            await self._inspect(cluster)
        finally:
            database.close()

    def _witnesses(self, folder: Path, mode: Mode) -> Witnesses | None:
        """Where the database tells of a fail-over itself, none may be needed."""
        if mode.tells_lineage and self.random.random() < 0.5:
            return None
        return Witnesses(folder, shared=not mode.servers_change)

    def _client(self, kind: Any, number: int, cluster: Cluster, **options: Any) -> Any:
        name = f"{kind.__name__.lower()}-{number}"
        return kind(name, cluster, self.history, Random(f"{self.seed} {name}"), **options)

    async def _storm(self, cluster: Cluster) -> None:
        """All clients at work, while faults strike."""
        count, more = self.random.randrange, self.plan.length
        work = [self._client(Writer, each, cluster).run(more * count(10, 30)) for each in range(count(2, 5))]
        work += [self._client(Lister, each, cluster).run(more * count(5, 15)) for each in range(count(1, 3))]
        work += [self._client(Poller, each, cluster).run(more * count(10, 30)) for each in range(count(3))]
        work += [self._client(Compactor, 0, cluster).run(more * self.random.choice((0, 0, 1, 2, 3, 4, 5)))]
        work += [self._client(LeaseHolder, 0, cluster).run(more * count(4))]
        for number in range(count(1, 4)):
            self.watchers.append(self._client(Watcher, number, cluster, lazy=self.random.random() < 0.3))
        self.watchers += [self._client(MirrorHolder, each, cluster) for each in range(count(3))]
        for watcher in self.watchers:
            cluster.background_forever(watcher.run())
        nemesis = Nemesis(cluster, Random(f"{self.seed} nemesis"))
        cluster.background_forever(nemesis.run())
        await asyncio.gather(*work)

    async def _calm(self, cluster: Cluster) -> None:
        """Nothing fails any more: nodes come up, leases run out, watchers see everything."""
        self.faults.active = False
        self.loop.thaw_all()
        await cluster.all_up()
        await cluster.database.settle()
        newest = self.reference.newest
        # What clients have given up waiting for may still be under way.
        await asyncio.sleep(2 * self.settings.poll_interval_notified_s + 1.0)
        for node in cluster.nodes:
            followed(self.reference, node, newest)
        await self._until(lambda: not self.reference.leases, within_s=LEASE_TTL_S_MAX + 60.0)
        for watcher in self.watchers:
            watcher.restless = False
        await self._until(self._all_seen, within_s=CONVERGE_S_MAX)
        # Not before: a read would make up for a wake-up that was lost for good.
        reader = self._client(Client, 0, cluster)
        for node in cluster.nodes:
            self.reads.append(await reader.send(List(key_range=KeyRange.everything()), node))
        await reader.send(Compact(to=None), self.random.choice(cluster.nodes))
        for pause_s in (0.0, self.settings.compaction_interval_s + 1.0):
            await asyncio.sleep(pause_s)
            # A run of another node, which does not yet know of this floor.
            await self._until(lambda: not cluster.database.maintainer, within_s=CONVERGE_S_MAX)
        await cluster.end_background()

    def _all_seen(self) -> bool:
        reached = [each.reached or Revision(0) for each in self.watchers]
        return all(each >= self.reference.newest and not self.reference.is_lost(each) for each in reached)

    async def _until(self, condition: Callable[[], bool], *, within_s: float) -> None:
        """Wait for a condition; whether it was met is judged at the end."""
        deadline = self.loop.time() + within_s
        while not condition() and self.loop.time() < deadline:  # noqa: ASYNC110  # time is virtual
            await asyncio.sleep(0.5)

    async def _inspect(self, cluster: Cluster) -> None:
        """Look at the database with a driver of the last node's kind, after every node has closed."""
        driver = open_driver(cluster.database, "inspector", cluster.database.clock, self.settings)
        await p7_still_there(self.reference, driver)
        await p7_nothing_left(self.reference, driver)
        for problem in (await check(driver)).problems:
            self.reference.broken("P1 order", f"kinepy check: {problem}")
        await driver.close()

    def _judge(self) -> None:
        judge_calls(self.reference, self.history)
        judge_watches(self.reference, self.history)
        calls = self.history.calls
        by_hand = [each.commits[0] for each in calls if isinstance(each.request, Compact)]
        p7_floors(self.reference, self.rules, by_hand=min(by_hand, default=None))
        p8_leases(self.reference, {each.request.lease for each in calls if isinstance(each.request, Revoke)})
        if self.reads:
            p8_none_left(self.reference)
            converged(self.reference, self.watchers, self.reads)


def _scratch() -> Path | None:
    return SHARED_MEMORY if SHARED_MEMORY.is_dir() else None


__all__ = ["ConnectionBroke", "Plan", "Report", "simulate"]
