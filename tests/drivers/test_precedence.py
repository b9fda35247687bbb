"""Going first among processes that compete for keys: one at a time, in turn, and never for ever."""

import asyncio
import time

import pytest

from kinepy.drivers.base import Driver
from kinepy.drivers.postgres import driver as postgres
from kinepy.drivers.sqlite import precedence as sqlite
from kinepy.errors import StorageUnavailable

Pair = tuple[Driver, Driver]
SHORT_S = 0.2


async def test_one_process_has_it_at_a_time(pair: Pair) -> None:
    inside, most = 0, 0

    async def have(driver: Driver) -> None:
        nonlocal inside, most
        async with driver.precedence() as had:
            assert had
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1

    async with asyncio.timeout(20):
        for _ in range(5):
            await asyncio.gather(*(have(driver) for driver in pair))
    assert most == 1


async def test_who_keeps_it_is_not_waited_for_for_ever(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "WAIT_S", SHORT_S)
    monkeypatch.setattr(postgres, "PRECEDENCE_WAIT_MS", int(SHORT_S * 1000))
    one, other = pair
    async with one.precedence() as had:
        assert had
        began = time.monotonic()
        try:
            async with other.precedence() as also:
                assert not also
        except StorageUnavailable:
            pass  # the other way to say so
        assert SHORT_S / 2 < time.monotonic() - began < 10
    async with other.precedence() as had:
        assert had


async def test_who_gives_up_waiting_leaves_it_to_others(pair: Pair) -> None:
    async def have(driver: Driver) -> None:
        async with driver.precedence():
            await asyncio.sleep(0)

    one, other = pair
    async with one.precedence():
        waiting = asyncio.create_task(have(other))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.wait([waiting])
    async with asyncio.timeout(10):
        for driver in pair:
            await have(driver)
