"""List: one snapshot in key order, at the revision that the decision table says."""

from typing import Any

import pytest

from kinepy_server.context import Context
from kinepy_server.errors import StatusError
from tests.http.reading import answer, reading, removed, resource, stored

CONFIGMAPS, NAMESPACES = resource(), resource("namespaces")
EVENTS, NEW_EVENTS = resource("events"), resource("events", "events.k8s.io")


async def listed(context: Context, namespace: str = "ns", **query: str) -> Any:
    return await answer(context, reading(CONFIGMAPS, "list", namespace=namespace, query=query), CONFIGMAPS)


def names(body: Any) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


async def refusal(context: Context, **query: str) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await listed(context, **query)
    return caught.value


async def test_a_typed_list_has_items_without_kind(context: Context) -> None:
    revision = await stored(context, CONFIGMAPS, "a", data={"k": "v"})
    body = await listed(context)
    assert (body["kind"], body["apiVersion"]) == ("ConfigMapList", "v1")
    assert body["metadata"] == {"resourceVersion": str(revision)}
    assert set(body["items"][0]) == {"metadata", "data"}
    assert body["items"][0]["metadata"]["resourceVersion"] == str(revision)


async def test_an_empty_list_has_items_and_the_store_revision(context: Context) -> None:
    revision = await stored(context, NAMESPACES, "other")
    body = await listed(context)
    assert (body["items"], body["metadata"]["resourceVersion"]) == ([], str(revision))


async def test_items_are_ordered_by_namespace_and_name_joined(context: Context) -> None:
    for namespace, name in (("a", "b"), ("a-b", "z"), ("a", "a-b"), ("a", "a"), ("a", "a.b")):
        await stored(context, CONFIGMAPS, name, namespace)
    body = await listed(context, "")
    assert names(body) == ["z", "a", "a-b", "a.b", "b"]


async def test_a_namespace_does_not_show_those_that_begin_alike(context: Context) -> None:
    await stored(context, CONFIGMAPS, "a", "ns")
    await stored(context, CONFIGMAPS, "b", "ns2")
    assert names(await listed(context, "ns")) == ["a"]


async def test_exact_shows_the_state_at_that_revision(context: Context) -> None:
    first = await stored(context, CONFIGMAPS, "a", data={"v": "1"})
    second = await stored(context, CONFIGMAPS, "b")
    await stored(context, CONFIGMAPS, "a", data={"v": "2"})
    await removed(context, CONFIGMAPS, "b")
    body = await listed(context, resourceVersion=str(first), resourceVersionMatch="Exact")
    assert (names(body), body["items"][0]["data"]) == (["a"], {"v": "1"})
    assert body["metadata"]["resourceVersion"] == str(first)
    assert names(await listed(context, resourceVersion=str(second), resourceVersionMatch="Exact")) == [
        "a",
        "b",
    ]


async def test_not_older_shows_the_newest_state(context: Context) -> None:
    first = await stored(context, CONFIGMAPS, "a")
    await stored(context, CONFIGMAPS, "b")
    assert names(await listed(context, resourceVersion=str(first))) == ["a", "b"]


async def test_a_compacted_revision_is_expired(context: Context) -> None:
    await stored(context, CONFIGMAPS, "a")
    now = await stored(context, CONFIGMAPS, "a", data={"v": "2"})
    await context.store.compact()
    error = await refusal(context, resourceVersion=str(now - 1), resourceVersionMatch="Exact")
    assert (error.code, error.reason) == (410, "Expired")
    assert error.message == "The resourceVersion for the provided list is too old."
    assert names(await listed(context, resourceVersion=str(now), resourceVersionMatch="Exact")) == ["a"]


@pytest.mark.parametrize("more", [{}, {"resourceVersionMatch": "Exact"}, {"limit": "5"}])
async def test_a_future_revision_is_a_timeout(impatient: Context, more: dict[str, str]) -> None:
    error = await refusal(impatient, resourceVersion="1000", **more)
    assert (error.code, error.reason, error.retry_after_s) == (504, "Timeout", 1)
    assert error.details == {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"labelSelector": "env=prod"}, ["a"]),
        ({"labelSelector": "env!=prod"}, ["b", "c"]),
        ({"labelSelector": "env"}, ["a", "b"]),
        ({"fieldSelector": "metadata.name=b"}, ["b"]),
        ({"fieldSelector": "metadata.name=b", "labelSelector": "env=prod"}, []),
        ({"fieldSelector": "metadata.name!=b"}, ["a", "c"]),
        ({"fieldSelector": "metadata.namespace=other"}, []),
        ({"fieldSelector": "metadata.name=none"}, []),
    ],
)
async def test_selectors_choose_items_and_leave_the_revision(
    context: Context, query: dict[str, str], expected: list[str]
) -> None:
    await stored(context, CONFIGMAPS, "a", labels={"env": "prod"})
    await stored(context, CONFIGMAPS, "b", labels={"env": "dev"})
    await stored(context, CONFIGMAPS, "c")
    revision = await stored(context, NAMESPACES, "later")
    body = await listed(context, **query)
    assert names(body) == expected
    assert body["metadata"] == {"resourceVersion": str(revision)}


async def test_cluster_scoped_objects_are_listed_without_namespace(context: Context) -> None:
    await stored(context, NAMESPACES, "a", status={"phase": "Active"})
    request = reading(NAMESPACES, "list", query={"fieldSelector": "status.phase=Active,metadata.name=a"})
    assert names(await answer(context, request, NAMESPACES)) == ["a"]


async def test_events_are_listed_in_both_groups(context: Context) -> None:
    await stored(context, EVENTS, "e", involvedObject={"kind": "Pod"}, message="hello")
    request = reading(NEW_EVENTS, "list", query={"fieldSelector": "regarding.kind=Pod"})
    body = await answer(context, request, NEW_EVENTS)
    assert (body["apiVersion"], body["items"][0]["note"]) == ("events.k8s.io/v1", "hello")
    assert "apiVersion" not in body["items"][0]


async def test_a_partial_list_has_items_with_kind(context: Context) -> None:
    await stored(context, CONFIGMAPS, "a", labels={"l": "m"}, data={"k": "v"})
    request = reading(CONFIGMAPS, "list")
    request.headers = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    body = await answer(context, request, CONFIGMAPS)
    assert (body["kind"], body["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert set(body["items"][0]) == {"kind", "apiVersion", "metadata"}


async def test_an_empty_table_has_its_columns(context: Context) -> None:
    request = reading(CONFIGMAPS, "list")
    request.headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    body = await answer(context, request, CONFIGMAPS)
    assert (body["rows"], [c["name"] for c in body["columnDefinitions"]]) == ([], ["Name", "Data", "Age"])
