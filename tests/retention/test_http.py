"""Over HTTP, each type's old revisions are answered by its own prefix's floor."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from tests.contract.stores import FAST
from tests.http.reading import resource, stored, watching

CONFIGMAPS, SECRETS, EVENTS = resource(), resource("secrets"), resource("events")
SETTINGS = replace(
    FAST,
    ring_bytes_max=0,
    compaction_keep_s=0.0,
    compaction_keep_changes=0,
    retention=("/registry/configmaps/=forever", "/registry/events/=0s"),
)


@pytest.fixture
async def context(database_url: str) -> AsyncIterator[Context]:
    async with open_store(database_url, SETTINGS) as store:
        yield Context(store, builtin_registry())


async def test_a_watch_is_refused_only_where_history_was_given_up(context: Context) -> None:
    kept = await stored(context, CONFIGMAPS, "kept", data={"v": "1"})
    for value in "23":
        changed = await stored(context, CONFIGMAPS, "kept", data={"v": value})
    for value in "123":
        busy = await stored(context, SECRETS, "busy", type=value)
    await stored(context, SECRETS, "other")
    await context.store._compactor.apply_retention()
    async with watching(context, CONFIGMAPS, resourceVersion=str(kept)) as stream:
        assert await stream.told() == ("MODIFIED", "kept", changed - 1)
        assert await stream.told() == ("MODIFIED", "kept", changed)
    async with watching(context, SECRETS, resourceVersion=str(kept)) as stream:
        [error] = await stream.rest()
    assert error["object"]["code"] == 410
    assert error["object"]["message"] == f"too old resource version: {kept} ({busy})"
    # In a prefix with a floor of its own nothing happened: nothing was given up, and nobody is sent away.
    async with watching(context, EVENTS, resourceVersion=str(kept), timeoutSeconds="1") as stream:
        assert await stream.rest() == []
