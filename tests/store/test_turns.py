"""Turns at a key: in the order in which they came, however they end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kinepy import Revision
from kinepy.clock import SystemClock
from kinepy.store import turns as module
from kinepy.store.rivals import KEYS_MAX, Rivals
from kinepy.store.turns import Turns

KEY = b"key"


@asynccontextmanager
async def alone() -> AsyncIterator[bool]:
    """There is nobody else."""
    yield True


@pytest.fixture
def rivals() -> Rivals:
    return Rivals(alone, is_own=lambda revision: revision == 1, clock=SystemClock())


@pytest.fixture
def turns(rivals: Rivals) -> Turns:
    return Turns(rivals)


class Line:
    """Tasks that take the turn, note it, and keep it until they are told."""

    def __init__(self, turns: Turns) -> None:
        self.turns, self.order = turns, list[int]()
        self.go = [asyncio.Event() for _ in range(4)]
        self.tasks = [asyncio.create_task(self.take(number)) for number in range(4)]

    async def take(self, number: int) -> None:
        async with self.turns.take(KEY):
            self.order.append(number)
            await self.go[number].wait()

    async def settle(self) -> None:
        """Let everything happen that can."""
        for _ in range(10):
            await asyncio.sleep(0)

    async def end(self) -> None:
        """Everybody is done."""
        for event in self.go:
            event.set()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_turns_come_in_the_order_of_asking_and_leave_nothing(turns: Turns) -> None:
    line = Line(turns)
    await line.settle()
    assert (line.order, turns.is_taken(KEY), turns.is_taken(b"other")) == ([0], True, False)
    line.go[0].set()
    await line.settle()
    assert line.order == [0, 1]
    await line.end()
    assert line.order == [0, 1, 2, 3]
    assert not turns.is_taken(KEY)


async def test_who_gives_up_is_passed_over(turns: Turns) -> None:
    line = Line(turns)
    await line.settle()
    line.tasks[1].cancel()
    await line.settle()
    line.go[0].set()
    await line.settle()
    assert line.order == [0, 2]
    await line.end()
    assert not turns.is_taken(KEY)


async def test_who_gives_up_when_let_in_lets_the_next_one_in(turns: Turns) -> None:
    line = Line(turns)
    await line.settle()
    line.go[0].set()
    line.tasks[1].cancel()
    line.tasks[0].cancel()
    await line.settle()
    assert line.order == [0, 2]
    await line.end()
    assert not turns.is_taken(KEY)


async def test_who_is_not_done_in_time_keeps_nobody_waiting(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD_MAX_S", 0.01)
    line = Line(turns)
    for _ in range(1000):
        if line.order == [0, 1, 2, 3]:
            break
        await asyncio.sleep(0.01)
    assert line.order == [0, 1, 2, 3]
    await line.end()
    assert not turns.is_taken(KEY)


def test_what_is_known_of_other_processes_is_bounded(rivals: Rivals) -> None:
    for number in range(KEYS_MAX + 10):
        rivals.met(b"%d" % number, Revision(2))
    assert len(rivals) == KEYS_MAX


async def test_who_lost_against_its_own_process_waits_for_nobody(rivals: Rivals) -> None:
    rivals.met(KEY, Revision(1))
    assert not await rivals.begin(KEY)


async def test_who_lost_against_another_process_waits_for_precedence(rivals: Rivals, turns: Turns) -> None:
    rivals.met(KEY, Revision(2))
    line = Line(turns)
    await line.settle()
    assert line.order == []
    running = asyncio.create_task(rivals.run())
    for event in line.go:
        event.set()
    async with asyncio.timeout(10):
        await asyncio.gather(*line.tasks)
    running.cancel()
    await asyncio.wait([running])
    assert line.order == [0, 1, 2, 3]


async def test_who_waits_when_the_store_closes_goes_on(rivals: Rivals, turns: Turns) -> None:
    rivals.met(KEY, Revision(2))
    running = asyncio.create_task(rivals.run())
    await asyncio.sleep(0)
    running.cancel()
    line = Line(turns)
    await asyncio.wait([running])
    async with asyncio.timeout(10):
        await line.end()
    assert line.order == [0, 1, 2, 3]
