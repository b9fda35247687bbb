"""The time limit of requests."""

import asyncio

import pytest

from kinepy_server.deadlines import TICK_S, Deadlines


async def test_a_body_within_its_time_is_left_alone() -> None:
    deadlines = Deadlines()
    with deadlines.after(10) as deadline:
        await asyncio.sleep(0)
    assert not deadline.expired


async def test_a_body_that_takes_too_long_is_ended() -> None:
    deadlines = Deadlines()
    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(TimeoutError), deadlines.after(0.02) as deadline:
        await asyncio.Event().wait()
    assert deadline.expired
    assert loop.time() - began >= 0.02


async def test_an_earlier_deadline_does_not_wait_for_a_later_one() -> None:
    deadlines = Deadlines()
    with deadlines.after(1000), pytest.raises(TimeoutError), deadlines.after(TICK_S):
        await asyncio.Event().wait()


async def test_a_later_deadline_comes_after_an_earlier_one() -> None:
    deadlines = Deadlines()
    with pytest.raises(TimeoutError), deadlines.after(3 * TICK_S):
        with pytest.raises(TimeoutError), deadlines.after(TICK_S):
            await asyncio.Event().wait()
        await asyncio.Event().wait()


async def test_a_cancellation_from_outside_stays_one() -> None:
    deadlines = Deadlines()

    async def body() -> None:
        with deadlines.after(10):
            await asyncio.Event().wait()

    task = asyncio.create_task(body())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_finished_body_is_not_ended_later() -> None:
    deadlines = Deadlines()
    with deadlines.after(0.0):
        pass
    await asyncio.sleep(3 * TICK_S)  # past the deadline
