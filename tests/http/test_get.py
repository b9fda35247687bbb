"""Get: the newest state, or one not older than what the client has seen."""

import asyncio

import pytest

from kinepy_server.context import Context
from kinepy_server.errors import StatusError
from tests.http.reading import answer, reading, removed, resource, stored

CONFIGMAPS = resource()


async def test_a_get_shows_the_object_at_its_revision(context: Context) -> None:
    revision = await stored(context, CONFIGMAPS, "a", data={"k": "v"})
    await stored(context, CONFIGMAPS, "b")
    obj = await answer(context, reading(CONFIGMAPS, "get", "a"), CONFIGMAPS)
    assert (obj["kind"], obj["apiVersion"], obj["data"]) == ("ConfigMap", "v1", {"k": "v"})
    assert obj["metadata"]["resourceVersion"] == str(revision)


async def test_a_missing_object_is_not_found(context: Context) -> None:
    with pytest.raises(StatusError) as caught:
        await answer(context, reading(CONFIGMAPS, "get", "none"), CONFIGMAPS)
    assert (caught.value.code, caught.value.message) == (404, 'configmaps "none" not found')


@pytest.mark.parametrize("version", ["", "0", "1"])
async def test_a_resource_version_is_a_minimum(context: Context, version: str) -> None:
    await stored(context, CONFIGMAPS, "a")
    revision = await stored(context, CONFIGMAPS, "a", data={"k": "new"})
    request = reading(CONFIGMAPS, "get", "a", query={"resourceVersion": version})
    assert (await answer(context, request, CONFIGMAPS))["metadata"]["resourceVersion"] == str(revision)


async def test_a_get_waits_for_a_revision_that_comes(context: Context) -> None:
    revision = await stored(context, CONFIGMAPS, "a")
    request = reading(CONFIGMAPS, "get", "a", query={"resourceVersion": str(revision + 1)})
    waiting = asyncio.create_task(answer(context, request, CONFIGMAPS))
    assert await stored(context, CONFIGMAPS, "a") == revision + 1
    assert (await waiting)["metadata"]["resourceVersion"] == str(revision + 1)


async def test_a_revision_that_does_not_come_is_a_timeout_to_be_tried_again(impatient: Context) -> None:
    await stored(impatient, CONFIGMAPS, "a")
    with pytest.raises(StatusError) as caught:
        await answer(
            impatient, reading(CONFIGMAPS, "get", "a", query={"resourceVersion": "1000"}), CONFIGMAPS
        )
    assert (caught.value.code, caught.value.retry_after_s) == (504, 1)
    assert caught.value.message == "Timeout: Too large resource version: 1000, current: 2"


async def test_a_resource_version_that_is_no_number_is_a_500_without_reason(context: Context) -> None:
    with pytest.raises(StatusError) as caught:
        await answer(context, reading(CONFIGMAPS, "get", "a", query={"resourceVersion": "abc"}), CONFIGMAPS)
    assert (caught.value.code, caught.value.reason) == (500, "")


async def test_a_deleted_object_is_gone(context: Context) -> None:
    await stored(context, CONFIGMAPS, "a")
    await removed(context, CONFIGMAPS, "a")
    with pytest.raises(StatusError, match='configmaps "a" not found'):
        await answer(context, reading(CONFIGMAPS, "get", "a"), CONFIGMAPS)


async def test_one_object_as_a_table_has_one_row(context: Context) -> None:
    await stored(context, CONFIGMAPS, "a", data={"k": "v"})
    request = reading(CONFIGMAPS, "get", "a")
    request.headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    table = await answer(context, request, CONFIGMAPS)
    assert table["kind"] == "Table"
    assert [row["cells"][:2] for row in table["rows"]] == [["a", 1]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
