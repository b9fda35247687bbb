"""What `retry_on_conflict` and `Mirror` promise."""

import asyncio
from dataclasses import replace

import pytest

from kinepy import Event, KeyRange, KeyValue, Mirror, Revision, Store, retry_on_conflict
from kinepy.errors import RevisionConflict, StoreClosed
from kinepy.store.writes import PutWrite
from tests.contract.conftest import OpenStore
from tests.contract.stores import FAST, checked_store

JOBS = KeyRange.prefix(b"/jobs/")


def counted(current: KeyValue | None) -> bytes:
    """One more than before."""
    return b"%d" % (int(current.value) + 1 if current else 1)


async def test_many_retrying_writers_lose_nothing(store: Store) -> None:
    await asyncio.gather(*(retry_on_conflict(store, b"n", counted, attempts_max=100) for _ in range(30)))
    counter = await store.get(b"n")
    assert counter is not None and counter.value == b"30"


async def test_callers_of_one_process_do_not_lose_against_each_other(store: Store) -> None:
    calls = list[KeyValue | None]()

    def change(current: KeyValue | None) -> bytes:
        calls.append(current)
        return counted(current)

    callers = (retry_on_conflict(store, b"n", change, attempts_max=1) for _ in range(30))
    await asyncio.gather(*callers)
    assert len(calls) == 30
    assert not store.turns.is_taken(b"n")


async def test_a_change_that_raises_lets_the_next_one_on(store: Store) -> None:
    def fails(current: KeyValue | None) -> bytes:
        raise ArithmeticError

    first, second = retry_on_conflict(store, b"n", fails), retry_on_conflict(store, b"n", counted)
    failed, changed = await asyncio.gather(first, second, return_exceptions=True)
    assert isinstance(failed, ArithmeticError)
    assert isinstance(changed, KeyValue) and changed.value == b"1"


async def test_retrying_ends(store: Store) -> None:
    await store.create(b"n", b"0")
    calls = list[KeyValue]()

    def always_late(current: KeyValue | None) -> bytes:
        assert current is not None
        calls.append(current)
        # Another writer's put is queued before ours.
        store._committer.submit(PutWrite(b"n", b"theirs", lease=None, actor=None))
        return b"ours"

    with pytest.raises(RevisionConflict):
        await retry_on_conflict(store, b"n", always_late, attempts_max=3)
    assert [kv.mod_revision for kv in calls] == [2, 3, 4]


async def test_a_change_may_leave_the_key_alone(store: Store) -> None:
    assert await retry_on_conflict(store, b"n", lambda current: None) is None
    assert await store.current_revision() == 1


async def test_a_changed_key_keeps_its_lease(store: Store) -> None:
    lease = await store.grant_lease(60)
    await store.create(b"n", b"1", lease=lease.id)
    changed = await retry_on_conflict(store, b"n", counted)
    assert changed is not None and (changed.value, changed.lease) == (b"2", lease.id)


async def test_a_mirror_follows_its_range(store: Store) -> None:
    await store.create(b"/jobs/1", b"old")
    async with Mirror(store, JOBS) as jobs:
        assert jobs[b"/jobs/1"].value == b"old"
        await store.update(b"/jobs/1", b"new")
        await store.create(b"/jobs/2", b"")
        await store.create(b"/other", b"")
        await store.delete(b"/jobs/2")
        assert await jobs.wait_for(Revision(6)) == 6
        assert {key: kv.value for key, kv in jobs.items()} == {b"/jobs/1": b"new"}


async def test_a_mirror_resumes_when_it_was_too_slow(open_with: OpenStore) -> None:
    async with open_with(replace(FAST, watch_queue_events_max=2)) as store, Mirror(store, JOBS) as jobs:
        await asyncio.gather(*(store.create(b"/jobs/%d" % n, b"") for n in range(50)))
        await asyncio.gather(*(store.create(b"/jobs/x%d" % n, b"") for n in range(50)))
        await jobs.wait_for(Revision(101))
        assert len(jobs) == 100


async def test_a_mirror_lists_anew_when_history_is_gone(store: Store) -> None:
    for key in (b"/jobs/1", b"/jobs/2", b"/jobs/3"):
        await store.create(key, b"old")
    changes: list[Event] = []
    mirror = Mirror(store, JOBS, on_change=changes.append)
    async with mirror:
        # Before the mirror's task has run: its history goes away under it.
        await store.update(b"/jobs/1", b"new")
        await store.delete(b"/jobs/2")
        await mirror.wait_for(Revision(6))
        await mirror._list_anew()
        assert {key: kv.value for key, kv in mirror.items()} == {b"/jobs/1": b"new", b"/jobs/3": b"old"}
    assert [(event.type.value, event.kv.key) for event in changes] == [
        ("put", b"/jobs/1"),
        ("delete", b"/jobs/2"),
    ]


async def test_a_mirror_tells_its_changes(store: Store) -> None:
    async with Mirror(store, JOBS) as jobs:
        changes = jobs.changes()
        first = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)
        created = await store.create(b"/jobs/1", b"")
        assert (await first).kv == created
        await changes.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_a_mirror_says_that_the_store_was_closed(durable_url: str) -> None:
    async with checked_store(durable_url, FAST) as store:
        pass
    with pytest.raises(StoreClosed):
        async with Mirror(store, JOBS):
            pass
