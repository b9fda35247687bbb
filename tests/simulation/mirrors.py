"""Clients that mirror a range: whenever one looks, the mirror is the range's state at its revision."""

import asyncio

from kinepy import Event, EventType, KeyRange, Mirror, Revision, Store
from kinepy.errors import KinepyError
from tests.simulation.cluster import Node, NodeDown
from tests.simulation.history import Unknown
from tests.simulation.reference import within
from tests.simulation.workload import RANGES, Client


class MirrorHolder(Client):
    """Mirrors one range, through one node after another."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.key_range: KeyRange = self.random.choice(RANGES)
        self.reached: Revision | None = None
        """the revision at which the mirror was found to be right"""
        self.restless = True
        self._told: dict[bytes, Revision] = {}

    async def run(self) -> None:
        """Mirror until cancelled."""
        while True:
            node = self.node()
            try:
                await node.call(lambda store, node=node: self._hold(store, node))  # type: ignore[misc]
            except (NodeDown, KinepyError, Unknown):
                await asyncio.sleep(0.3)

    async def _hold(self, store: Store, node: Node) -> None:
        mirror = Mirror(store, self.key_range, on_change=self._changed, clock=node.clock, random=self.random)
        async with mirror:
            self._told = {key: record.mod_revision for key, record in mirror.items()}
            before = Revision(0)
            while mirror.error is None and not (self.restless and self.random.random() < 0.03):
                before = self._look(mirror, before)
                if self.random.random() < 0.2:
                    await self._wait(mirror)
                await asyncio.sleep(self.random.random())

    def _changed(self, event: Event) -> None:
        """What the mirror tells as changes makes up what it holds."""
        if event.type is EventType.DELETE:
            self._told.pop(event.kv.key, None)
        else:
            self._told[event.kv.key] = event.kv.mod_revision

    async def _wait(self, mirror: Mirror) -> None:
        """Wait for what some client knows."""
        known = self.history.known
        try:
            reached = await mirror.wait_for(known, timeout_s=5.0)
        except KinepyError:
            return
        if reached < known:
            self._broken(f"was to wait for {known}, but stands at {reached}")

    def _look(self, mirror: Mirror, before: Revision) -> Revision:
        reference, revision = self.history.reference, mirror.revision
        self.history.learn(min(revision, reference.seen))
        held = [mirror[key] for key in sorted(mirror)]
        state = reference.states.get(revision)
        if state is None or revision < before:
            self._broken(f"stands at {revision} after {before}; the store is at {reference.newest}")
        elif held != (right := within(state, self.key_range)):
            self._broken(f"holds {held} at {revision}, which is {right}")
        if self._told != {record.key: record.mod_revision for record in held}:
            self._broken(f"has told {self._told}, and holds {held}")
        self.reached = revision
        return revision

    def _broken(self, text: str) -> None:
        self.history.reference.broken(
            "P6 watch mirror", f"the mirror of {self.key_range} of {self.name} {text}"
        )
