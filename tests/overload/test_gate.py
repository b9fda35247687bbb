"""The gate: who is let in, who waits, whose turn it is, who is refused."""

import asyncio
import timeit

import pytest

from kinepy_server.flow.gate import Gate, Limits, Place, Refused
from kinepy_server.flow.reason import Reason


def gate(seats: int = 4, *, held_bytes: int = 1000, waiting: int = 100, wait_s: float = 10.0) -> Gate:
    """A small gate."""
    return Gate(Limits(seats=seats, held_bytes=held_bytes, waiting=waiting, wait_s=wait_s))


def hold(one: Gate, user: str, count: int, cost: int = 0) -> list[Place]:
    """Places that a user gets at once, at most so many."""
    return [place for _ in range(count) if (place := one.enter(user, cost)) is not None]


class Line:
    """Requests that wait, and the order in which they were let in."""

    def __init__(self, one: Gate) -> None:
        self.gate = one
        self.order: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def join(self, user: str, flow: str = "", count: int = 1, *, cost: int = 0) -> None:
        """Requests of a user come, and wait."""
        for _ in range(count):
            self.tasks.append(asyncio.create_task(self._wait(user, flow, cost)))
        await asyncio.sleep(0)

    async def _wait(self, user: str, flow: str, cost: int) -> None:
        place = await self.gate.wait(user, flow, cost=cost)
        self.order.append(f"{user}{flow}")
        await asyncio.sleep(0)
        place.leave()

    async def ended(self) -> list[str]:
        """Wait for all of them; the order."""
        await asyncio.gather(*self.tasks)
        return self.order


def test_a_user_alone_gets_half() -> None:
    assert len(hold(gate(400), "jane", 400)) == 201


def test_who_comes_next_always_finds_a_place() -> None:
    one = gate(400)
    for user in range(6):
        assert len(hold(one, f"user-{user}", 400)) > 2
    assert one.enter("late") is not None


def test_no_more_are_inside_than_there_are_seats() -> None:
    one = gate(4)
    for user in range(20):
        hold(one, f"user-{user}", 1)
    assert (one.inside, one.enter("late")) == (4, None)


def test_a_place_that_was_left_is_free_once() -> None:
    one = gate(1)
    place = one.enter("jane")
    assert place is not None
    place.leave()
    place.leave()
    assert one.inside == 0


async def test_users_take_turns() -> None:
    one = gate(1)
    (place,) = hold(one, "first", 1)
    line = Line(one)
    await line.join("jane", count=3)
    await line.join("bob", count=2)
    place.leave()
    assert await line.ended() == ["jane", "bob", "jane", "bob", "jane"]


async def test_namespaces_of_a_user_take_turns() -> None:
    one = gate(1)
    (place,) = hold(one, "first", 1)
    line = Line(one)
    await line.join("jane", "/a", 3)
    await line.join("jane", "/b", 1)
    place.leave()
    assert await line.ended() == ["jane/a", "jane/b", "jane/a", "jane/a"]


async def test_nobody_goes_before_the_own_requests_that_wait() -> None:
    one = gate(2)
    held = hold(one, "jane", 3)
    line = Line(one)
    await line.join("jane")
    held[0].leave()
    assert one.enter("jane") is None
    held[1].leave()
    await line.ended()


async def test_a_full_room_is_refused_at_once_but_not_to_others() -> None:
    one = gate(1, waiting=90)
    (place,) = hold(one, "first", 1)
    line = Line(one)
    await line.join("jane", "/a", 90)
    assert (one.refused[Reason.QUEUE_FULL], one.waiting) == (59, 31)
    await line.join("jane", "/b")
    await line.join("bob")
    assert (one.refused[Reason.QUEUE_FULL], one.waiting) == (59, 33)
    place.leave()
    results = await asyncio.gather(*line.tasks, return_exceptions=True)
    assert sum(isinstance(result, Refused) for result in results) == 59


async def test_who_waited_too_long_is_refused() -> None:
    one = gate(1, wait_s=0.01)
    hold(one, "first", 1)
    with pytest.raises(Refused) as caught:
        await one.wait("jane", "")
    assert (caught.value.reason, one.waiting) == (Reason.TIME_OUT, 0)


async def test_who_gives_up_waits_no_longer() -> None:
    one = gate(1)
    (place,) = hold(one, "first", 1)
    line = Line(one)
    await line.join("jane", count=2)
    line.tasks[0].cancel()
    await asyncio.gather(line.tasks[0], return_exceptions=True)
    assert (one.waiting, one.refused[Reason.CANCELLED]) == (1, 1)
    place.leave()
    await line.tasks[1]
    assert (one.inside, one.waiting) == (0, 0)


async def test_who_gives_up_when_let_in_leaves_the_place() -> None:
    one = gate(1)
    (place,) = hold(one, "first", 1)
    line = Line(one)
    await line.join("jane")
    place.leave()
    line.tasks[0].cancel()
    await asyncio.gather(*line.tasks, return_exceptions=True)
    assert (one.inside, one.waiting) == (0, 0)


def test_bytes_are_bounded_too() -> None:
    one = gate(100, held_bytes=1000)
    assert len(hold(one, "jane", 100, 100)) == 6
    assert len(hold(one, "bob", 100, 100)) == 3
    assert one.enter("bob", 0) is not None


def test_what_is_larger_than_the_whole_is_let_in_for_a_quarter() -> None:
    one = gate(held_bytes=1000)
    place = one.enter("jane", 10_000)
    assert place is not None
    assert one.held_bytes == 250
    place.resize(10_000)
    assert one.enter("bob", 1) is None
    place.leave()
    assert one.held_bytes == 0


async def test_small_ones_do_not_keep_a_large_one_waiting_for_ever() -> None:
    one = gate(100, held_bytes=1000)
    held = [place for user in range(9) for place in hold(one, f"user-{user}", 1, 100)]
    line = Line(one)
    await line.join("jane", cost=250)
    assert one.enter("bob", 50) is None, "somebody waits for bytes"
    assert one.enter("bob", 0) is not None
    for place in held[:2]:
        place.leave()
    assert await line.ended() == ["jane"]
    assert one.enter("bob", 50) is not None


def test_many_users_are_not_remembered_for_ever() -> None:
    one = gate(10)
    (kept,) = hold(one, "kept", 1)
    for number in range(5000):
        for place in hold(one, f"user-{number}", 1):
            place.leave()
    assert len(one._users) <= 1024
    kept.leave()
    assert one.inside == 0


def test_passing_an_open_gate_costs_next_to_nothing() -> None:
    one = gate(400)

    def passing() -> None:
        place = one.enter("jane")
        assert place is not None
        place.leave()

    assert min(timeit.repeat(passing, number=1000, repeat=20)) / 1000 < 10e-6
