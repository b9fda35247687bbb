"""Nodes: real stores on the simulated database. They crash, forget, and are opened anew."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context
from dataclasses import replace
from random import Random
from typing import Any, Final, TypeVar

from kinepy import Settings, Store
from kinepy.clock import Clock
from kinepy.drivers.base import Driver
from kinepy.errors import KinepyError, StorageUnavailable, WriteOutcomeUnknown
from tests.simulation.clock import SimClock
from tests.simulation.database import SimDatabase
from tests.simulation.driver import SimDriver
from tests.simulation.history import Unknown
from tests.simulation.loop import NODE, SimLoop
from tests.simulation.witness import Witnesses

T = TypeVar("T")
OpenStore = Callable[[Driver, Settings, Clock, Random], AbstractAsyncContextManager[Store]]
OpenDriver = Callable[[SimDatabase, str, Clock, Settings], SimDriver]

CRASH_TAKES_MAX_S: Final = 120.0


def open_driver(database: SimDatabase, node: str, clock: Clock, settings: Settings) -> SimDriver:
    """A node's driver, as it should be."""
    return SimDriver(database, node, clock=clock, lock_timeout_s=settings.lock_timeout_s)


@asynccontextmanager
async def open_real_store(
    driver: Driver, settings: Settings, clock: Clock, random: Random
) -> AsyncIterator[Store]:
    """As `kinepy.open_store` does, on a driver that is already open."""
    store = Store(driver, settings=settings, clock=clock, random=random)
    try:
        await store.start()
        yield store
    finally:
        await store.close()


class NodeDown(Exception):
    """There is no process to ask."""


class Node:
    """A machine on which one process after another serves the store."""

    def __init__(self, name: str, cluster: "Cluster") -> None:
        self.name, self._cluster = name, cluster
        self.clock = SimClock(cluster.loop)
        self.incarnation = 0
        self.store: Store | None = None
        self._context = Context()
        self._stop = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None

    @property
    def identity(self) -> str:
        """The process that runs now."""
        return f"{self.name}.{self.incarnation}"

    def start(self) -> None:
        """Start a process, which opens the store; until then calls find the node down."""
        self.incarnation += 1
        self._stop = asyncio.Event()
        self._context = Context()
        self._context.run(NODE.set, self.identity)
        self._serving = self._spawn(self._serve(self.identity, self._stop))

    def _spawn(self, coroutine: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        return self._cluster.loop.create_task(coroutine, context=self._context)

    async def _serve(self, identity: str, stop: asyncio.Event) -> None:
        cluster = self._cluster
        while not stop.is_set():
            driver = cluster.open_driver(cluster.database, identity, self.clock, cluster.settings)
            try:
                # Random numbers of the product must not depend on how many the faults have drawn.
                random = Random(f"{cluster.seed} {identity}")
                settings = cluster.settings_of(self.name)
                async with cluster.open_store(driver, settings, self.clock, random) as store:
                    cluster.database.trace(f"{identity} is open at {store.applied_revision}")
                    self.store = store
                    await stop.wait()
                    self.store = None
            except (StorageUnavailable, WriteOutcomeUnknown) as error:
                cluster.database.trace(f"{identity} cannot open: {error}")
                await driver.close()
                await asyncio.sleep(0.5)
            finally:
                self.store = None

    def _store_of(self, identity: str | None) -> Store:
        store = self.store
        if store is None or self.identity in self._cluster.database.dead:
            raise NodeDown
        if identity is not None and identity != self.identity:
            raise NodeDown
        return store

    async def call(self, work: Callable[[Store], Awaitable[T]], *, identity: str | None = None) -> T:
        """Run work inside the process, or only in one process. Raises `NodeDown` before it has begun, `Unknown` if the
        process dies in it."""
        store = self._store_of(identity)
        identity = self.identity

        async def run() -> T:
            return await work(store)

        task = self._spawn(run())
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait((task,))
            if not task.cancelled():
                task.exception()
            raise
        if identity in self._cluster.database.dead:
            if not task.cancelled():
                task.exception()
            raise Unknown(f"{identity} died")
        return task.result()

    def sync(self, work: Callable[[Store], T], *, identity: str | None = None) -> T:
        """Call something of the store that does not wait."""
        return self._context.copy().run(work, self._store_of(identity))

    def crash(self) -> None:
        """Kill the process at once and clean up after it; somebody starts the next one a while later."""
        identity = self.identity
        if identity in self._cluster.database.dead:
            return
        self._cluster.database.kill(identity)
        self.store = None
        if self._cluster.witnesses is not None:
            self._cluster.witnesses.died(self.name)
        self._cluster.background(self._clean_up(identity))

    async def _clean_up(self, identity: str) -> None:
        """A killed process runs no code; here its tasks are cancelled, cut off from the database."""
        loop = self._cluster.loop
        await end_tasks(loop, identity)
        if self._cluster.witnesses is not None:
            self._cluster.witnesses.buried(self.name)
        await asyncio.sleep(self._cluster.random.random() * 2.0)
        self.start()

    async def reopen(self) -> None:
        """Close the store in good order, whatever is under way, and open it again."""
        identity = self.identity
        if self.store is None:
            return
        self._cluster.database.trace(f"{identity} closes")
        await self.stop()
        await asyncio.sleep(1.0)
        if identity == self.identity and identity not in self._cluster.database.dead:
            self._cluster.database.kill(identity)
            await end_tasks(self._cluster.loop, identity)
            self.start()

    async def stop(self) -> None:
        """Close the store and end the process in an orderly way."""
        self._stop.set()
        serving, identity = self._serving, self.identity
        assert serving is not None
        await asyncio.wait((serving,), timeout=CRASH_TAKES_MAX_S)
        assert serving.done(), f"{identity} does not close"
        if not serving.cancelled() and identity not in self._cluster.database.dead:
            serving.result()


async def end_tasks(loop: SimLoop, identity: str) -> None:
    """Cancel what is left of a process until nothing is."""
    loop.thaw(identity)
    deadline = loop.time() + CRASH_TAKES_MAX_S
    while tasks := loop.tasks_of(identity):
        if loop.time() > deadline:
            raise AssertionError(f"{identity} would not die: {tasks}")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=1.0)
        for task in tasks:
            if task.done() and not task.cancelled():
                error = task.exception()
                if error is not None and not isinstance(error, KinepyError | BaseExceptionGroup):
                    raise error


class Cluster:
    """The nodes of a run and what they share."""

    def __init__(
        self,
        database: SimDatabase,
        settings: Settings,
        *,
        loop: SimLoop,
        random: Random,
        seed: int,
        witnesses: Witnesses | None = None,
        open_store: OpenStore = open_real_store,
        open_driver: OpenDriver = open_driver,
    ) -> None:
        self.database, self.settings, self.loop = database, settings, loop
        self.random, self.seed, self.witnesses = random, seed, witnesses
        self.open_store, self.open_driver = open_store, open_driver
        self.nodes: list[Node] = []
        self._background: list[asyncio.Task[Any]] = []
        self._forever: list[asyncio.Task[Any]] = []
        database.faults.crash = self._crash

    def settings_of(self, node: str) -> Settings:
        """A node's settings."""
        if self.witnesses is None:
            return self.settings
        return replace(self.settings, witness_path=str(self.witnesses.path(node)))

    def add(self, count: int) -> None:
        """Make nodes and start them."""
        for number in range(1, count + 1):
            node = Node(f"n{number}", self)
            self.nodes.append(node)
            node.start()

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that belongs to no node."""
        self._background.append(self.loop.create_task(work, context=Context()))

    def background_forever(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something without an end, until `end_background`."""
        self._forever.append(self.loop.create_task(work, context=Context()))

    async def end_background(self) -> None:
        """Stop what goes on for ever."""
        for task in self._forever:
            task.cancel()
        if self._forever:
            await asyncio.wait(self._forever)
        for task in self._forever:
            if not task.cancelled():
                task.result()

    def _crash(self, identity: str) -> bool:
        for node in self.nodes:
            if node.identity == identity and identity not in self.database.dead:
                node.crash()
                return True
        return False

    async def all_up(self) -> None:
        """Return when every node serves; nothing strikes any more."""
        deadline = self.loop.time() + CRASH_TAKES_MAX_S
        while any(node.store is None for node in self.nodes):
            for task in self._background:
                if task.done():
                    task.result()
            if self.loop.time() > deadline:
                down = [node.identity for node in self.nodes if node.store is None]
                raise AssertionError(f"nodes do not come up: {down}")
            await asyncio.sleep(0.1)
        await asyncio.gather(*self._background)

    async def stop(self) -> None:
        """Close every node; afterwards no task of theirs is left."""
        for node in self.nodes:
            await node.stop()
        left = [task for node in self.nodes for task in self.loop.tasks_of(node.identity)]
        assert not left, f"tasks outlive their store: {left}"
