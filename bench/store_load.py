"""The library, in this process: 64 callers on one open store."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from bench.table import Row, measured
from kinepy import KeyRange, Store, open_store

CALLERS = 64
PREFIX = b"/registry/configmaps/default/"
VALUE = b"x" * 1024


def key(number: int) -> bytes:
    """The key of an object's number."""
    return PREFIX + b"load-%d" % number


async def calls(name: str, call: Callable[[int], Awaitable[object]], *, total: int) -> Row:
    """`total` calls by 64 callers, each waiting for its answer before it calls again."""
    seconds: list[float] = []
    numbers = iter(range(total))

    async def caller() -> None:
        for number in numbers:
            began = time.perf_counter()
            await call(number)
            seconds.append(time.perf_counter() - began)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(CALLERS):
            group.create_task(caller())
    return measured(name, seconds, wall_s=time.perf_counter() - began)


async def steady_calls(
    name: str, call: Callable[[int], Awaitable[object]], *, rate: int, seconds: float
) -> Row:
    """The calls of 64 callers that together make `rate` a second, or as many as they can where that is less."""
    took: list[float] = []
    numbers = iter(range(int(rate * seconds)))
    began = time.perf_counter()

    async def caller() -> None:
        for number in numbers:
            await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
            called = time.perf_counter()
            if called - began > seconds:
                return
            await call(number)
            took.append(time.perf_counter() - called)

    async with asyncio.TaskGroup() as group:
        for _ in range(CALLERS):
            group.create_task(caller())
    return measured(name, took, wall_s=time.perf_counter() - began)


async def creates_with_watch(store: Store, *, total: int) -> Row:
    """Creates while one watcher reads along; the figures are of acknowledgement to delivery."""
    acknowledged: dict[int, float] = {}
    delivered: dict[int, float] = {}

    async def create(number: int) -> None:
        made = await store.create(PREFIX + b"watched-%d" % number, VALUE)
        acknowledged[made.mod_revision] = time.perf_counter()

    async def follow() -> None:
        async with store.watch(KeyRange.prefix(PREFIX)) as watch:
            ready.set()
            while len(delivered) < total:
                batch = await anext(watch)
                now = time.perf_counter()
                delivered.update((event.revision, now) for event in batch.events)

    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(follow())
        await ready.wait()
        row = await calls("", create, total=total)
    lags = [max(0.0, delivered[revision] - told) for revision, told in acknowledged.items()]
    lag = measured("library watch lag under 64 creators", lags, wall_s=total / row.per_second)
    return replace(lag, note="lag from acknowledgement")


async def measure(url: str, *, database: str, scale: float) -> list[Row]:
    """Every figure of the library on one database."""
    creates, gets = int(30_000 * scale), int(60_000 * scale)
    targets = {"sqlite": 15_000, "postgres": 8_000}
    rows = []
    async with open_store(url) as store:
        row = await calls("library create", lambda n: store.create(key(n), VALUE), total=creates)
        rows.append(replace(row, target=targets.get(database)))
        rows.append(await calls("library update", lambda n: store.update(key(n), VALUE), total=creates // 2))
        rows.append(await calls("library get", lambda n: store.get(key(n % 1000)), total=gets))
        items = min(creates, 10_000)
        whole = KeyRange.prefix(PREFIX)
        lists = await calls(
            f"library list of {items}, items",
            lambda _: store.range(whole, limit=items),
            total=max(8, int(64 * scale)),
        )
        rows.append(replace(lists, per_second=lists.per_second * items))
        rows.append(await creates_with_watch(store, total=creates // 2))
        rows.append(await calls("library delete", lambda n: store.delete(key(n)), total=creates // 2))
    return [replace(row, name=f"{database}: {row.name}") for row in rows]
