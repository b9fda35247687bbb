"""Pages: every object of one snapshot once, whatever is written meanwhile."""

from typing import Any

import pytest

from kinepy import KeyRange
from kinepy_server.context import Context
from kinepy_server.errors import StatusError
from kinepy_server.read.continue_token import decode_token
from kinepy_server.read.page import Scan
from kinepy_server.read.plan import NEWEST
from tests.http.reading import answer, reading, removed, resource, stored

CONFIGMAPS = resource()


async def page(context: Context, token: str = "", *, namespace: str = "ns", **query: str) -> Any:
    if token:
        query["continue"] = token
    return await answer(context, reading(CONFIGMAPS, "list", namespace=namespace, query=query), CONFIGMAPS)


def names(body: Any) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


async def filled(context: Context, *given: str, **members: Any) -> None:
    for name in given:
        await stored(context, CONFIGMAPS, name, **members)


async def test_pages_walk_the_list_at_one_revision(context: Context) -> None:
    await filled(context, "c1", "c2", "c3", "c4", "c5")
    first = await page(context, limit="2")
    second = await page(context, first["metadata"]["continue"], limit="2")
    last = await page(context, second["metadata"]["continue"], limit="2")
    assert [names(body) for body in (first, second, last)] == [["c1", "c2"], ["c3", "c4"], ["c5"]]
    assert [body["metadata"].get("remainingItemCount") for body in (first, second, last)] == [3, 1, None]
    assert len({body["metadata"]["resourceVersion"] for body in (first, second, last)}) == 1
    assert "continue" not in last["metadata"]


async def test_a_limit_that_just_fits_ends_the_list(context: Context) -> None:
    await filled(context, "a", "b")
    assert "continue" not in (await page(context, limit="2"))["metadata"]


async def test_writes_between_pages_are_not_seen(context: Context) -> None:
    await filled(context, "c1", "c2", "c3", "c4")
    first = await page(context, limit="2")
    await removed(context, CONFIGMAPS, "c3")
    await filled(context, "c35")
    await stored(context, CONFIGMAPS, "c4", data={"n": "changed"})
    second = await page(context, first["metadata"]["continue"], limit="5")
    assert names(second) == ["c3", "c4"]
    assert "data" not in second["items"][1]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_a_token_across_namespaces_starts_at_namespace_and_name(context: Context) -> None:
    await stored(context, CONFIGMAPS, "a", "n1")
    await stored(context, CONFIGMAPS, "b", "n2")
    first = await page(context, namespace="", limit="1")
    assert decode_token(first["metadata"]["continue"]).start == b"n1/a\0"
    assert names(await page(context, first["metadata"]["continue"], namespace="", limit="1")) == ["b"]


@pytest.mark.parametrize("rows", [1, 2, 100])
async def test_pages_with_a_selector_hold_as_many_matching_items(context: Context, rows: int) -> None:
    context.settings = type(context.settings)(scan_page_rows=rows)
    await filled(context, "b1", "b3", "b5", "b7", labels={"g": "one"})
    await filled(context, "b2", "b4", "b6", "b9", labels={"g": "two"})
    first = await page(context, limit="3", labelSelector="g=one")
    assert names(first) == ["b1", "b3", "b5"]
    assert "remainingItemCount" not in first["metadata"]
    second = await page(context, first["metadata"]["continue"], limit="3", labelSelector="g=one")
    assert names(second) == ["b7"]
    assert "continue" not in second["metadata"]


@pytest.mark.parametrize("query", [{}, {"labelSelector": "g=one"}], ids=["all", "selected"])
async def test_a_page_ends_early_when_it_is_large(context: Context, query: dict[str, str]) -> None:
    context.settings = type(context.settings)(answers_bytes_max=160_000, scan_page_bytes=50_000)
    await filled(context, *"abcde", labels={"g": "one"}, data={"x": "y" * 9000})
    first = await page(context, limit="4", **query)
    assert names(first) == ["a", "b", "c"]
    assert first["metadata"].get("remainingItemCount") == (None if query else 2)
    second = await page(context, first["metadata"]["continue"], limit="4", **query)
    assert names(second) == ["d", "e"] and "continue" not in second["metadata"]
    assert len(names(await page(context, **query))) == 5, "a client that wants no pages gets none"


async def test_a_selector_reads_no_more_at_once_than_a_page(context: Context) -> None:
    context.settings = type(context.settings)(scan_page_bytes=20_000)
    await filled(context, *"abcdefgh", data={"x": "y" * 9000})
    scan = Scan(context, NEWEST, KeyRange.prefix(b"/registry/configmaps/"))
    sizes = []
    while (rows := await scan.next()) is not None:
        sizes.append(len(rows))
    assert sizes == [3, 3, 2]


async def test_a_full_page_goes_on_while_any_key_follows(context: Context) -> None:
    await filled(context, "a", labels={"g": "one"})
    await filled(context, "b")
    assert (await page(context, limit="1", labelSelector="g=one"))["metadata"]["continue"]
    assert "continue" not in (await page(context, limit="1", fieldSelector="metadata.name=b"))["metadata"]


async def test_a_selector_with_pages_reads_one_snapshot(context: Context) -> None:
    await filled(context, "a", "b", "c", labels={"g": "one"})
    first = await page(context, limit="1", labelSelector="g=one")
    await removed(context, CONFIGMAPS, "b")
    assert names(await page(context, first["metadata"]["continue"], labelSelector="g=one")) == ["b", "c"]


async def test_an_expired_token_comes_with_one_that_goes_on_inconsistently(context: Context) -> None:
    await filled(context, "a", "b", "c")
    token = (await page(context, limit="1"))["metadata"]["continue"]
    await removed(context, CONFIGMAPS, "b")
    newest = await stored(context, CONFIGMAPS, "d")
    await context.store.compact()
    with pytest.raises(StatusError) as caught:
        await page(context, token, limit="1")
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    fresh = caught.value.metadata["continue"]
    assert decode_token(fresh).revision is None
    resumed = await page(context, fresh, limit="1")
    assert (names(resumed), resumed["metadata"]["resourceVersion"]) == (["c"], str(newest))
    assert decode_token(resumed["metadata"]["continue"]).revision == newest


async def test_a_resource_version_beside_a_token_is_refused_unless_it_is_zero(context: Context) -> None:
    await filled(context, "a", "b")
    token = (await page(context, limit="1"))["metadata"]["continue"]
    assert names(await page(context, token, resourceVersion="0")) == ["b"]
    with pytest.raises(StatusError, match="specifying resource version is not allowed when using continue"):
        await page(context, token, resourceVersion="1")


async def test_a_token_with_a_name_selector_looks_at_what_follows_only(context: Context) -> None:
    await filled(context, "a", "b", "c")
    token = (await page(context, limit="1"))["metadata"]["continue"]
    assert names(await page(context, token, fieldSelector="metadata.name=a")) == []
    assert names(await page(context, token, fieldSelector="metadata.name=c")) == ["c"]
