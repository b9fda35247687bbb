"""Watchers: they resume from the last revision after every break, on whichever node, and relist when they must."""

import asyncio

from kinepy import KeyRange, RangeResult, Revision, Store, Watch, WatchBatch
from kinepy.errors import Compacted, KinepyError, WatchOverflow
from tests.simulation.cluster import Node, NodeDown
from tests.simulation.history import List, Session, Unknown
from tests.simulation.workload import KEYS, RANGES, Client


class Watcher(Client):
    """Watches one range from the first revision to the last one."""

    def __init__(self, *arguments: object, lazy: bool) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.key_range: KeyRange = self.random.choice(RANGES)
        self.reached: Revision | None = None
        """everything in the range up to here is known"""
        self.restless = True
        self._lazy = lazy

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            node = self.node()
            try:
                watch, session = self._open(node)
            except (NodeDown, KinepyError):
                await asyncio.sleep(0.3)
                continue
            self.history.sessions.append(session)
            await self._follow(node, watch, session)
            await asyncio.sleep(self.random.random() * 0.2)

    def _open(self, node: Node) -> tuple[Watch, Session]:
        start = None if self.reached is None else Revision(self.reached + 1)
        if start is not None and self.restless and self.random.random() < 0.1:
            start = Revision(start + self.random.randrange(4))  # perhaps in the future

        def open_watch(store: Store) -> tuple[Watch, Revision]:
            applied = store.applied_revision
            return store.watch(self.key_range, start=start), applied

        watch, applied = node.sync(open_watch)
        settings = self.cluster.settings
        session = Session(
            client=self.name,
            node=node.identity,
            key_range=self.key_range,
            start=start or Revision(applied + 1),
            queue_max=settings.watch_queue_events_max,
            publication_max=max(settings.batch_writes_max, settings.page_rows_max) + len(KEYS),
        )
        return watch, session

    async def _follow(self, node: Node, watch: Watch, session: Session) -> None:
        try:
            await self._deliveries(node, watch, session)
            session.ended = None
        except WatchOverflow as error:
            session.ended = error
            self._advance(Revision(error.resume - 1))
        except Compacted as error:
            session.ended = error
            await self._relist(node)
        except (KinepyError, NodeDown, Unknown) as error:
            session.ended = error
        finally:
            try:
                await node.call(lambda _: watch.aclose(), identity=session.node)
            except (NodeDown, Unknown):
                pass

    async def _deliveries(self, node: Node, watch: Watch, session: Session) -> None:
        while self._goes_on(session):
            self._look(node, watch, session)
            timeout_s = self.random.choice((0.0, 0.5, 3.0))
            batch = await self._next(node, watch, session, timeout_s=timeout_s)
            if batch is not None:
                self.history.deliver(session, batch.events, batch.progress)
                self._advance(batch.progress)
            self._look(node, watch, session)
            if self._lazy and self.restless:
                await asyncio.sleep(self.random.random() * 3.0)
            elif timeout_s == 0.0:
                await asyncio.sleep(0.1)

    def _look(self, node: Node, watch: Watch, session: Session) -> None:
        """Take note of what the watch says about its progress."""
        progress = node.sync(lambda _: watch.progress, identity=session.node)
        # A watch that was asked to begin in the future knows nothing of what lies before that.
        if progress >= session.start - 1:
            self.history.deliver(session, (), progress)
            self._advance(progress)

    def _goes_on(self, session: Session) -> bool:
        if self.restless:
            return self.random.random() >= 0.05
        # At the end nobody waits for a future that does not come.
        return session.start <= (self.reached or 0) + 1

    async def _next(
        self, node: Node, watch: Watch, session: Session, *, timeout_s: float
    ) -> WatchBatch | None:
        patience_s = 0.1 if self.random.random() < 0.1 else None

        async def read(_: Store) -> WatchBatch | None:
            try:  # a reader that is cancelled loses nothing
                async with asyncio.timeout(patience_s):
                    return await watch.next(timeout_s=timeout_s)
            except TimeoutError:
                return None

        return await node.call(read, identity=session.node)

    def _advance(self, progress: Revision) -> None:
        self.reached = progress if self.reached is None else max(self.reached, progress)

    async def _relist(self, node: Node) -> None:
        result = await self.send(List(key_range=self.key_range), node)
        if isinstance(result, RangeResult):
            self.reached = result.revision
