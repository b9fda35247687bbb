"""One process acts at a time; another takes over within seconds when it dies, at once when it ends cleanly."""

import asyncio
from collections.abc import Callable

import pytest

from kinepy import KeyRange, Store
from kinepy_server.context import Context
from kinepy_server.controllers import leadership
from kinepy_server.controllers.leadership import PREFIX, Candidate

NAME = "n"


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases of the shortest time."""
    monkeypatch.setattr(leadership, "LEASE_TTL_S", 1)
    monkeypatch.setattr(leadership, "RENEW_S", 0.2)
    monkeypatch.setattr(leadership, "MARGIN_S", 0.2)


class Work:
    """Work that counts how many do it at the same time."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.changed = asyncio.Condition()

    def of(self, who: str) -> Callable[[], "asyncio.Future[None]"]:
        return lambda: asyncio.ensure_future(self._run(who))

    async def _run(self, who: str) -> None:
        assert not self.running
        self.running.append(who)
        try:
            await self._tell()
            await asyncio.Event().wait()
        finally:
            self.running.remove(who)
            await asyncio.shield(self._tell())

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def until(self, *who: str) -> None:
        async with asyncio.timeout(20), self.changed:
            await self.changed.wait_for(lambda: tuple(self.running) == who)


async def end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def leaders(store: Store) -> list[bytes]:
    found = await store.range(KeyRange.prefix(PREFIX))
    return [kv.value for kv in found.items]


async def test_a_leader_that_ends_is_followed_at_once(two_contexts: tuple[Context, Context]) -> None:
    work = Work()
    one, two = (Candidate(context.store, name=str(index)) for index, context in enumerate(two_contexts))
    first = asyncio.create_task(one.lead(NAME, work.of("one")))
    await work.until("one")
    second = asyncio.create_task(two.lead(NAME, work.of("two")))
    await end(first)
    await one.close()
    await work.until("two")
    assert await leaders(two_contexts[0].store) == [b"1"]
    await end(second)
    await two.close()
    assert await leaders(two_contexts[0].store) == []
    assert await two_contexts[0].store.leases() == []


async def test_a_leader_that_dies_is_followed_when_its_lease_ends(
    two_contexts: tuple[Context, Context],
) -> None:
    work = Work()
    one, two = (Candidate(context.store, name="") for context in two_contexts)
    first = asyncio.create_task(one.lead(NAME, work.of("one")))
    await work.until("one")
    second = asyncio.create_task(two.lead(NAME, work.of("two")))
    lease = one._lease
    assert lease is not None
    lease._keeper.cancel()  # what a dead process does: nothing any more
    await end(first)
    await work.until("two")
    await end(second)
    await two.close()


async def test_a_leader_whose_key_is_taken_away_stops(context: Context) -> None:
    work = Work()
    candidate = Candidate(context.store, name="")
    task = asyncio.create_task(candidate.lead(NAME, work.of("one")))
    await work.until("one")
    await context.store.delete(PREFIX + NAME.encode())
    await asyncio.wait_for(task, 20)
    assert work.running == []


async def test_a_leader_whose_lease_is_revoked_stops(context: Context) -> None:
    work = Work()
    candidate = Candidate(context.store, name="")
    task = asyncio.create_task(candidate.lead(NAME, work.of("one")))
    await work.until("one")
    for lease in await context.store.leases():
        await context.store.revoke_lease(lease)
    await asyncio.wait_for(task, 20)
    assert work.running == []


async def test_work_that_fails_gives_leadership_up(context: Context) -> None:
    async def fail() -> None:
        raise ValueError

    candidate = Candidate(context.store, name="")
    with pytest.raises(ValueError):
        await candidate.lead(NAME, fail)
    assert await leaders(context.store) == []
    assert await context.store.leases() == []


async def test_one_lease_serves_all_that_a_process_leads(context: Context) -> None:
    candidate = Candidate(context.store, name="")
    works = [Work() for _ in range(4)]
    tasks = [
        asyncio.create_task(candidate.lead(str(index), work.of("me"))) for index, work in enumerate(works)
    ]
    for work in works:
        await work.until("me")
    assert len(await context.store.leases()) == 1
    for task in tasks:
        await end(task)
    await candidate.close()


async def test_a_process_that_waits_holds_no_lease(two_contexts: tuple[Context, Context]) -> None:
    work = Work()
    one, two = (Candidate(context.store, name="") for context in two_contexts)
    tasks = [asyncio.create_task(one.lead(NAME, work.of("one")))]
    await work.until("one")
    tasks.append(asyncio.create_task(two.lead(NAME, work.of("two"))))
    assert len(await one._store.leases()) == 1
    for task in tasks:
        await end(task)
    await one.close()
    await two.close()
