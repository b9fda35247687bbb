"""What the simulation has found, each pinned by the scene that showed it. `README.md` has the track record."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from kinepy import DeleteRange, Event, EventType, KeyRange, KeyValue, Put, Revision, Settings, Txn
from kinepy.errors import Compacted, StoreClosed, WatchOverflow
from kinepy.log.barrier import Barrier
from kinepy.log.continuity import Continuity
from kinepy.log.floors import Floors
from kinepy.log.hub import Hub, Subscription
from kinepy.log.metrics import StoreMetrics
from tests.simulation.cluster import Cluster
from tests.simulation.database import POSTGRES
from tests.simulation.scene import play


def put(revision: int) -> Event:
    kv = KeyValue(b"k", b"v", Revision(2), Revision(revision), revision - 1)
    return Event(EventType.PUT, kv, None)


def hub_at(revision: int, **settings: int) -> Hub:
    hub = Hub(Settings(**settings), StoreMetrics())  # type: ignore[arg-type]
    hub.revision = Revision(revision)
    return hub


def watch(hub: Hub, *, start: int | None = None) -> Subscription:
    return hub.subscribe(KeyRange.everything(), start=None if start is None else Revision(start))


def test_progress_of_a_watch_that_overflowed_does_not_cover_what_was_dropped() -> None:
    # Seed 14: progress jumped to the newest revision when the queue was given up.
    hub = hub_at(1, watch_queue_events_max=1)
    slow = watch(hub)
    hub.publish([put(2)], Revision(2))
    hub.publish([put(3)], Revision(3))
    assert slow.progress == 1
    with pytest.raises(WatchOverflow) as caught:
        slow.take()
    assert caught.value.resume == 2


def test_progress_of_a_watch_that_met_a_new_epoch_does_not_cover_what_was_skipped() -> None:
    hub = hub_at(3)
    old = watch(hub)
    hub.skip_to(Revision(1003), Floors({b"": Revision(1003)}))
    assert old.progress == 3
    with pytest.raises(Compacted):
        old.take()


def test_watch_that_begins_in_the_new_epoch_is_not_told_that_it_was_compacted() -> None:
    # Seed 18: a client had listed at 1010 on another node; this node had not met the new epoch yet.
    hub = hub_at(3)
    ahead, behind = watch(hub, start=1011), watch(hub, start=1005)
    hub.skip_to(Revision(1008), Floors({b"": Revision(1003)}))
    hub.publish([put(1011)], Revision(1011))
    batch = ahead.take()
    assert batch is not None
    assert [event.revision for event in batch.events] == [1011]
    with pytest.raises(WatchOverflow) as caught:
        behind.take()
    assert caught.value.resume == 1005


class SilentDatabase:
    """A database that is asked and never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def current(self) -> Revision:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


async def test_read_that_waits_for_the_database_when_the_store_closes_is_refused() -> None:
    # Seed 133: the look that was under way was cancelled, and its readers waited for ever.
    database = SilentDatabase()
    barrier = Barrier(cast(Continuity, database), StoreMetrics())
    job = asyncio.create_task(barrier.run())
    look = barrier.current()
    await database.asked.wait()
    barrier.close()
    job.cancel()
    with pytest.raises(StoreClosed):
        await look
    await asyncio.wait([job])


def test_half_of_a_compacted_revision_is_never_told(tmp_path: Path) -> None:
    # Seed 1078: a node that lagged behind a compaction told what was left of a transaction.
    async def scene(cluster: Cluster) -> None:
        node, late = cluster.nodes
        watch = late.sync(lambda store: store.watch(KeyRange.everything()))
        cluster.loop.freeze(late.identity, 5.0)
        both = Txn(then=(Put(key=b"x", value=b"1"), Put(key=b"y", value=b"1")))
        swap = Txn(then=(DeleteRange(range=KeyRange.single(b"x")), Put(key=b"z", value=b"1")))
        for txn in (both, swap):
            await node.call(lambda store, txn=txn: store.txn(txn))  # type: ignore[misc]
        await node.call(lambda store: store.put(b"w", b"1"))
        await node.call(lambda store: store.compact())
        with pytest.raises(Compacted):
            await late.call(lambda _: watch.next())

    play(scene, tmp_path, nodes=2)


def test_compaction_begins_anew_after_a_fail_over(tmp_path: Path) -> None:
    # Seed 493: the standby still held what the lost primary had compacted; a deleted key showed its first version.
    async def scene(cluster: Cluster) -> None:
        (node,) = cluster.nodes
        await node.call(lambda store: store.put(b"k", b"first"))
        await node.call(lambda store: store.put(b"k", b"second"))
        cluster.database.copy()
        await node.call(lambda store: store.put(b"k", b"third"))
        await node.call(lambda store: store.compact())
        cluster.database.fail_over(announced=True)
        await asyncio.sleep(10.0)
        await node.call(lambda store: store.delete(b"k"))
        await node.call(lambda store: store.put(b"other", b"1"))
        floor = await node.call(lambda store: store.compact())
        await node.call(lambda store: store.put(b"other", b"2"))
        assert await node.call(lambda store: store.get(b"k", at=floor)) is None

    play(scene, tmp_path, nodes=1, settings=Settings(ring_bytes_max=0))


def test_rows_of_before_an_epoch_may_be_compacted_whatever_the_floor_of_their_prefix_says(
    tmp_path: Path,
) -> None:
    # Seed 235: the check compared with the prefix's own floor, which is lower than the epoch's base.
    async def scene(cluster: Cluster) -> None:
        (node,) = cluster.nodes
        for key in (b"/a/1", b"/a/1", b"/b", b"/a/1", b"/b"):
            await node.call(lambda store, key=key: store.put(key, b""))  # type: ignore[misc]
        await node.call(lambda store: store.compact(Revision(2)))
        cluster.database.copy()
        cluster.database.fail_over(announced=True)
        await node.call(lambda store: store.put(b"/b", b"after"))
        await node.call(lambda store: store.compact())

    play(scene, tmp_path, nodes=1, settings=Settings(retention=("/a/=forever",)))


def test_a_server_that_lacks_even_the_name_of_the_one_before_is_noticed(tmp_path: Path) -> None:
    # Seed 63: the standby had been copied before the first node noted its server.
    async def scene(cluster: Cluster) -> None:
        one, idle = cluster.nodes
        cluster.loop.freeze(idle.identity, 1.0)
        await one.call(lambda store: store.put(b"lost", b""))
        one.crash()
        cluster.database.fail_over(announced=False)
        written = await idle.call(lambda store: store.put(b"new", b""))
        assert written.mod_revision == cluster.database.reference.bases[0][0] + 1

    play(scene, tmp_path, nodes=2, mode=POSTGRES)


def test_floors_move_without_the_right_to_compact_after_a_fail_over_that_lost_nothing(tmp_path: Path) -> None:
    # Seed 3000117, length 4: the floors waited for somebody to write on the new server.
    async def scene(cluster: Cluster) -> None:
        (node,) = cluster.nodes
        written = await node.call(lambda store: store.put(b"k", b""))
        cluster.database.take_over_whole()
        cluster.database.maintainer = "somebody else"
        assert await node.call(lambda store: store.compact()) == written.mod_revision
        cluster.database.maintainer = ""

    play(scene, tmp_path, nodes=1, settings=Settings(postgres_standbys="synchronous"), mode=POSTGRES)
