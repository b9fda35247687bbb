"""A create with a guard happens only while another key is still what it was, whoever changes it (P3)."""

import pytest

from kinepy import Store
from kinepy.errors import GuardFailed, KeyExists


async def test_a_create_happens_while_its_guard_stands(store: Store) -> None:
    guard = await store.create(b"guard", b"")
    assert (await store.create(b"a", b"1", guard=guard)).mod_revision == 3


async def test_a_changed_guard_refuses_and_spends_no_revision(store: Store) -> None:
    guard = await store.create(b"guard", b"")
    changed = await store.update(b"guard", b"new")
    with pytest.raises(GuardFailed) as refused:
        await store.create(b"a", b"", guard=guard)
    assert (refused.value.expected, refused.value.current) == (2, changed)
    assert await store.current_revision() == 3
    assert await store.get(b"a") is None


async def test_a_guard_that_is_gone_refuses_also_when_its_key_is_new_again(store: Store) -> None:
    guard = await store.create(b"guard", b"")
    await store.delete(b"guard")
    with pytest.raises(GuardFailed) as refused:
        await store.create(b"a", b"", guard=guard)
    assert refused.value.current is None
    await store.create(b"guard", b"")
    with pytest.raises(GuardFailed):
        await store.create(b"a", b"", guard=guard)


async def test_a_guarded_create_meets_an_existing_key(store: Store) -> None:
    guard = await store.create(b"guard", b"")
    await store.create(b"a", b"")
    with pytest.raises(KeyExists):
        await store.create(b"a", b"", guard=guard)


async def test_another_process_change_of_the_guard_counts(two_stores: tuple[Store, Store]) -> None:
    one, other = two_stores
    guard = await one.create(b"guard", b"")
    await other.delete(b"guard")
    with pytest.raises(GuardFailed):
        await one.create(b"a", b"", guard=guard)


async def test_the_age_of_revisions_is_told_by_the_database(store: Store) -> None:
    await store.create(b"a", b"")
    assert await store.revision_before(age_s=0) == 2
    assert await store.revision_before(age_s=3600) is None
