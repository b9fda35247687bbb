"""Revisions: who gets which, and what a read may say of them."""

import asyncio
from random import Random

from kinepy import KeyRange, Revision, Store
from kinepy.clock import SystemClock
from kinepy.drivers.open import open_driver
from kinepy.errors import KeyExists, KeyNotFound
from kinepy.log.epochs import begin_epoch
from kinepy.migrate import migrate
from kinepy.settings import Settings
from tests.contract.stores import ALL, checked_store, events_upto

SEED = 8142
KEYS = KeyRange.prefix(b"/k/")


async def test_one_of_two_creators_wins_over_a_tombstone_that_is_compacted_meanwhile(
    two_stores: tuple[Store, Store],
) -> None:
    one, other = two_stores
    for _ in range(20):
        await one.create(b"name", b"")
        await one.delete(b"name")
        outcomes = await asyncio.gather(
            one.create(b"name", b"one"),
            one.compact(),
            other.create(b"name", b"other"),
            return_exceptions=True,
        )
        assert sorted(type(outcomes[i]).__name__ for i in (0, 2)) == ["KeyExists", "KeyValue"]
        await one.delete(b"name")


async def test_every_acknowledged_write_has_a_revision_of_its_own(two_stores: tuple[Store, Store]) -> None:
    print(f"{SEED=}")
    revisions: list[int] = []

    async def recreate(store: Store, chance: Random) -> None:
        for _ in range(25):
            key = b"/k/%d" % chance.randrange(3)
            try:
                revisions.append((await store.create(key, b"")).mod_revision)
                revisions.append((await store.delete(key)).revision)
            except (KeyExists, KeyNotFound):
                pass

    writers = [recreate(two_stores[n % 2], Random(SEED + n)) for n in range(16)]
    await asyncio.gather(*writers)
    assert sorted(revisions) == list(range(2, 2 + len(revisions)))


async def test_a_read_that_finds_nothing_reports_no_later_revision(two_stores: tuple[Store, Store]) -> None:
    writer, reader = two_stores
    reads = []

    async def read() -> None:
        while len(created) < 100:
            key_range = KeyRange.prefix(b"/k/%02d" % len(created))
            reads.append((key_range, await reader.range(key_range)))

    created: dict[bytes, int] = {}
    reading = [asyncio.create_task(read()) for _ in range(4)]
    for n in range(100):
        made = await writer.create(b"/k/%02d" % n, b"")
        created[made.key] = made.mod_revision
    await asyncio.gather(*reading)
    assert any(not result.items for _, result in reads)
    for key_range, result in reads:
        there = [key for key, revision in created.items() if key in key_range and revision <= result.revision]
        assert [item.key for item in result.items] == there


async def test_revisions_beyond_32_and_53_bits_work(shared_url: str) -> None:
    await migrate(shared_url)
    driver = await open_driver(shared_url, Settings(), SystemClock())
    async with driver.write() as tx:
        epoch = await begin_epoch(tx, seen=Revision(2**53), reason="a long life")
    await driver.close()
    async with checked_store(shared_url) as store:
        made = await store.create(b"/k/1", b"")
        assert made.mod_revision == epoch.base_revision + 1 > 2**53
        assert await store.get(b"/k/1", at=made.mod_revision) == made
        async with store.watch(KEYS, start=made.mod_revision) as watch:
            updated = await store.update(b"/k/1", b"new", expect=made.mod_revision)
            events = await events_upto(watch, updated.mod_revision)
        assert [event.kv for event in events] == [made, updated]
        assert await store.compact() == updated.mod_revision


async def test_keys_that_a_collation_would_mix_up_are_apart_and_in_the_order_of_their_bytes(
    two_stores: tuple[Store, Store],
) -> None:
    store, other = two_stores
    keys = [
        b"a",
        b"A",
        b"a ",
        b"a\x00",
        "\u00e9".encode(),
        "e\u0301".encode(),
        "\u00df".encode(),
        b"ss",
        b"a-",
        b"a/",
        b"\xff",
    ]
    for key in keys:
        await store.create(key, key)
    assert [item.key for item in (await other.range(ALL)).items] == sorted(keys)
    assert [item.value for item in (await other.range(ALL, limit=3)).items] == sorted(keys)[:3]
