"""Writers of one object: those that want it changed take turns, those that mean one version are answered at once."""

import asyncio

from kinepy_server.context import Context
from tests.http.writing import CONFIGMAPS, MERGE, Api, configmap

KEY = b"/registry/configmaps/default/a"
AT_ONCE_S = 10.0


async def settle() -> None:
    """Let everything happen that does not wait for a turn."""
    for _ in range(50):
        await asyncio.sleep(0.002)


async def test_who_means_one_version_never_waits(api: Api, context: Context) -> None:
    old = (await api.post(CONFIGMAPS, configmap())).version
    await api.put(f"{CONFIGMAPS}/a", configmap(data={"n": "1"}))
    stale = configmap(data={"n": "2"}, resourceVersion=old)
    async with context.store.turns.take(KEY), asyncio.timeout(AT_ONCE_S):
        replies = [
            await api.put(f"{CONFIGMAPS}/a", stale),
            await api.patch(f"{CONFIGMAPS}/a", {"metadata": {"resourceVersion": old}}, content_type=MERGE),
            await api.delete(f"{CONFIGMAPS}/a", {"preconditions": {"resourceVersion": old}}),
        ]
    assert [reply.code for reply in replies] == [409] * 3


async def test_who_wants_a_change_of_whatever_there_is_waits_for_those_before(
    api: Api, context: Context
) -> None:
    await api.post(CONFIGMAPS, configmap())
    async with context.store.turns.take(KEY):
        waiting = [
            asyncio.create_task(api.patch(f"{CONFIGMAPS}/a", {"data": {"n": "1"}}, content_type=MERGE)),
            asyncio.create_task(api.put(f"{CONFIGMAPS}/a", configmap(data={"n": "2"}))),
        ]
        await settle()
        assert not any(task.done() for task in waiting)
    assert [reply.code for reply in await asyncio.gather(*waiting)] == [200, 200]
    assert not context.store.turns.is_taken(KEY)


async def test_many_patches_all_happen(api: Api) -> None:
    await api.post(CONFIGMAPS, configmap())
    replies = await asyncio.gather(
        *(api.patch(f"{CONFIGMAPS}/a", {"data": {f"k{n}": ""}}, content_type=MERGE) for n in range(40))
    )
    assert {reply.code for reply in replies} == {200}
    assert len((await api.get(f"{CONFIGMAPS}/a")).body["data"]) >= 40
