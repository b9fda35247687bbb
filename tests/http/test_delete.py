"""Delete (3.6): what is gone, what is only marked, and what holds it."""

import asyncio
from typing import Any

import pytest

from kinepy_server.writes.delete_options import finalizers_after
from tests.http.writing import CONFIGMAPS, CORE, Api, configmap

HELD: Any = {"finalizers": ["x.io/y"]}


async def test_answers_a_status_that_tells_the_uid(api: Api) -> None:
    uid = (await api.post(CONFIGMAPS, configmap())).body["metadata"]["uid"]
    reply = await api.delete(f"{CONFIGMAPS}/a")
    assert reply.body["details"] == {"name": "a", "kind": "configmaps", "uid": uid}
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 404


async def test_some_types_answer_the_object_with_the_revision_of_the_delete(api: Api) -> None:
    made = await api.post(f"{CORE}/serviceaccounts", {"metadata": {"name": "s"}})
    reply = await api.delete(f"{CORE}/serviceaccounts/s")
    assert reply.body["kind"] == "ServiceAccount"
    assert int(reply.version) > int(made.version)


async def test_of_many_deletes_one_deletes(api: Api) -> None:
    await api.post(CONFIGMAPS, configmap())
    replies = await asyncio.gather(*(api.delete(f"{CONFIGMAPS}/a") for _ in range(10)))
    assert sorted(reply.code for reply in replies) == [200] + [404] * 9


async def test_a_held_object_is_marked_once(api: Api) -> None:
    await api.post(CONFIGMAPS, configmap(**HELD))
    first = await api.delete(f"{CONFIGMAPS}/a")
    assert first.body["metadata"]["deletionGracePeriodSeconds"] == 0
    assert (await api.delete(f"{CONFIGMAPS}/a")).content == first.content
    again = await api.post(CONFIGMAPS, configmap())
    assert again.message == 'object is being deleted: configmaps "a" already exists'


async def test_the_last_finalizer_takes_the_object_along(api: Api) -> None:
    await api.post(CONFIGMAPS, configmap(**HELD))
    await api.delete(f"{CONFIGMAPS}/a")
    reply = await api.patch(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}})
    assert reply.code == 200
    assert "finalizers" not in reply.body["metadata"]
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 404


async def test_finalizers_of_a_dying_object_only_get_fewer(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap(**HELD))
    await memory_api.delete(f"{CONFIGMAPS}/a")
    reply = await memory_api.patch(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": ["x.io/y", "x.io/z"]}})
    assert reply.code == 422
    assert reply.message.endswith('found new finalizers []string{"x.io/z"}')


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
async def test_a_precondition_that_fails_changes_nothing(memory_api: Api, field: str) -> None:
    await memory_api.post(CONFIGMAPS, configmap())
    reply = await memory_api.delete(f"{CONFIGMAPS}/a", {"preconditions": {field: "1"}})
    assert reply.code == 409
    assert reply.message.startswith('Operation cannot be fulfilled on ConfigMap "a": the ')
    assert (await memory_api.get(f"{CONFIGMAPS}/a")).code == 200


async def test_dry_run_deletes_nothing(api: Api) -> None:
    made = await api.post(CONFIGMAPS, configmap())
    assert (await api.delete(f"{CONFIGMAPS}/a?dryRun=All")).body["status"] == "Success"
    assert (await api.get(f"{CONFIGMAPS}/a")).content == made.content


async def test_the_body_wins_over_the_query(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap())
    reply = await memory_api.delete(f"{CONFIGMAPS}/a?propagationPolicy=Orphan", {"dryRun": ["All"]})
    assert reply.body["status"] == "Success"
    assert (await memory_api.get(f"{CONFIGMAPS}/a")).code == 200


async def test_a_collection_is_deleted_object_by_object(api: Api) -> None:
    for n in range(3):
        await api.post(CONFIGMAPS, configmap(f"c{n}", labels={"odd": str(n % 2)}))
    reply = await api.delete(f"{CONFIGMAPS}?labelSelector=odd=0")
    assert [item["metadata"]["name"] for item in reply.body["items"]] == ["c0", "c2"]
    left = (await api.get(CONFIGMAPS)).body
    assert [item["metadata"]["name"] for item in left["items"]] == ["c1"]
    assert int(left["metadata"]["resourceVersion"]) == int(reply.version) + 2


async def test_a_version_for_a_collection_is_a_precondition_of_each(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap())
    reply = await memory_api.delete(f"{CONFIGMAPS}?resourceVersion=0")
    assert reply.code == 409
    assert "the ResourceVersion in the precondition (0) does not match" in reply.message


@pytest.mark.parametrize(
    ("policy", "before", "after"),
    [
        ("Foreground", [], ["foregroundDeletion"]),
        ("Orphan", ["a/b", "foregroundDeletion"], ["a/b", "orphan"]),
        ("Background", ["orphan", "a/b"], ["a/b"]),
        ("", ["orphan"], ["orphan"]),
        ("", [], []),
    ],
)
def test_policies_are_finalizers(policy: str, before: list[str], after: list[str]) -> None:
    assert finalizers_after(policy, before, default="Background") == after


def test_the_default_policy_is_the_types() -> None:
    assert finalizers_after("", [], default="Orphan") == ["orphan"]
