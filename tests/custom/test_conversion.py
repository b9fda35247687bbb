"""Conversion webhooks: every verb in every version, and what their silence or nonsense means."""

import asyncio
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import orjson
import pytest

from kinepy import open_store
from kinepy.clock import SystemClock
from kinepy.errors import StoreClosed
from kinepy_server.aggregation.resolver import Resolver
from kinepy_server.custom.conversion import WebhookConverter
from kinepy_server.dynamic_admission.extensions import Extensions
from tests.admission.hooks import Answer, HookServer, hook_server
from tests.custom.conversion_hooks import (
    V1,
    V2,
    WIDGETS2,
    Json,
    converted_by,
    other_shape,
    review_of,
    reviewing,
    success,
    two_versions,
)
from tests.custom.definitions import ROOT, WIDGETS, Crds, eventually, widget
from tests.http.writing import Api

STORED = {"pair": "a:b", "replicas": 2}
SHOWN = {"left": "a", "right": "b", "replicas": 2}
NAME = "example.com/v1, Kind=Widget"
APPLY = "application/apply-patch+yaml"


@pytest.fixture
async def hooks(crds: Crds) -> AsyncIterator[HookServer]:
    """Converts; the definition of widgets names it."""
    async with hook_server(reviewing()) as server:
        await crds.define(*two_versions(), conversion=converted_by(server.url))
        yield server


def shown(name: str = "w", **members: Any) -> Json:
    return widget(name, api_version=V2, **members)


async def test_an_object_is_read_and_listed_in_both_versions(api: Api, hooks: HookServer) -> None:
    for name in ("x", "y", "z"):
        assert (await api.post(WIDGETS, widget(name, spec=STORED))).code == 201
    assert not hooks.requests
    found = await api.get(f"{WIDGETS2}/x")
    assert (found.code, found.body["apiVersion"], found.body["spec"]) == (200, V2, SHOWN)
    assert (await api.get(f"{WIDGETS}/x")).body["spec"] == STORED
    hooks.requests.clear()
    items = (await api.get(WIDGETS2)).body["items"]
    assert [(one["apiVersion"], one["spec"]) for one in items] == [(V2, SHOWN)] * 3
    # One review for all that is not known yet.
    assert len(hooks.requests) == 1


async def test_an_object_is_written_in_the_other_version(api: Api, hooks: HookServer) -> None:
    created = await api.post(WIDGETS2, shown(spec=SHOWN))
    assert (created.code, created.body["apiVersion"], created.body["spec"]) == (201, V2, SHOWN)
    assert (await api.get(f"{WIDGETS}/w")).body["spec"] == STORED
    replaced = await api.put(f"{WIDGETS2}/w", {**created.body, "spec": {**SHOWN, "left": "c"}})
    assert (replaced.code, replaced.body["spec"]["left"]) == (200, "c")
    patched = await api.patch(f"{WIDGETS}/w", {"spec": {"pair": "d:e"}})
    assert (patched.code, patched.body["spec"]["pair"]) == (200, "d:e")
    patched = await api.patch(f"{WIDGETS2}/w", {"spec": {"right": "f"}})
    assert (patched.code, patched.body["spec"]) == (200, {"left": "d", "right": "f", "replicas": 2})
    same = await api.patch(f"{WIDGETS2}/w", {"spec": {"right": "f"}})
    assert same.version == patched.version
    assert (await api.get(f"{WIDGETS}/w")).body["spec"]["pair"] == "d:f"
    assert (await api.delete(f"{WIDGETS2}/w")).code == 200
    assert (await api.get(f"{WIDGETS}/w")).code == 404


async def test_managers_of_two_versions_apply_to_one_object(api: Api, hooks: HookServer) -> None:
    first = await api.patch(f"{WIDGETS}/w?fieldManager=one", widget(spec={"pair": "a:b"}), content_type=APPLY)
    assert first.code == 201, first.content
    taken = shown(spec={"left": "c", "right": "b"})
    refused = await api.patch(f"{WIDGETS2}/w?fieldManager=two", taken, content_type=APPLY)
    assert (refused.code, refused.body["reason"]) == (409, "Conflict"), refused.content
    forced = await api.patch(f"{WIDGETS2}/w?fieldManager=two&force=true", taken, content_type=APPLY)
    assert (forced.code, forced.body["spec"]["left"]) == (200, "c"), forced.content
    assert (await api.get(f"{WIDGETS}/w")).body["spec"]["pair"] == "c:b"


async def test_subresources_columns_and_fields_are_those_of_the_version(api: Api, hooks: HookServer) -> None:
    await api.post(WIDGETS, widget(spec=STORED))
    await api.post(WIDGETS, widget("other", spec={"pair": "x:y"}))
    scale = await api.get(f"{WIDGETS2}/w/scale")
    assert scale.body["spec"] == {"replicas": 2}
    scaled = await api.patch(f"{WIDGETS2}/w/scale", {"spec": {"replicas": 5}})
    assert (scaled.code, scaled.body["spec"]) == (200, {"replicas": 5}), scaled.content
    found = (await api.get(f"{WIDGETS2}?fieldSelector=spec.left%3Da")).body["items"]
    assert [one["metadata"]["name"] for one in found] == ["w"]
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    rows = (await api.get(WIDGETS2, headers=accept)).body["rows"]
    assert [row["cells"] for row in rows] == [["other", "x"], ["w", "a"]]


async def test_a_watch_tells_the_version_that_it_asked_for(api: Api, hooks: HookServer) -> None:
    await api.post(WIDGETS, widget("x", spec=STORED))
    stream = await api.get(f"{WIDGETS2}?watch=true&resourceVersion=0&timeoutSeconds=1")
    told = [orjson.loads(line) for line in stream.content.splitlines()]
    assert [(one["type"], one["object"]["spec"]) for one in told] == [("ADDED", SHOWN)]
    created = await api.post(WIDGETS, widget("y", spec=STORED))
    await api.delete(f"{WIDGETS}/y")
    since = int(created.version) - 1
    stream = await api.get(f"{WIDGETS2}?watch=true&resourceVersion={since}&timeoutSeconds=1")
    told = [orjson.loads(line) for line in stream.content.splitlines()]
    assert [(one["type"], one["object"]["spec"]) for one in told] == [("ADDED", SHOWN), ("DELETED", SHOWN)]


async def test_a_webhook_is_asked_once_for_all_who_watch(api: Api, hooks: HookServer) -> None:
    since = int((await api.post(WIDGETS, widget(spec=STORED))).version) - 1
    asked = f"{WIDGETS2}?watch=true&resourceVersion={since}&timeoutSeconds=1"
    streams = await asyncio.gather(*(api.get(asked) for _ in range(20)))
    assert {orjson.loads(stream.content)["object"]["spec"]["left"] for stream in streams} == {"a"}
    assert len(hooks.requests) == 1


async def test_who_leaves_does_not_take_the_answer_along(api: Api, hooks: HookServer) -> None:
    await api.post(WIDGETS, widget(spec=STORED))
    first, second = (asyncio.create_task(api.get(f"{WIDGETS2}/w")) for _ in range(2))
    await eventually(lambda: bool(hooks.requests))
    first.cancel()
    assert (await second).body["spec"] == SHOWN
    assert len(hooks.requests) == 1


async def test_what_is_wrong_with_one_object_does_not_hide_another(api: Api, hooks: HookServer) -> None:
    for name in ("good", "bad"):
        await api.post(WIDGETS, widget(name, spec=STORED))

    def failing(request: Json) -> Json:
        if any(one["metadata"]["name"] == "bad" for one in request["objects"]):
            return {"uid": request["uid"], "result": REFUSED}
        return success(request)

    hooks.answer = reviewing(failing)
    both, good = await asyncio.gather(api.get(WIDGETS2), api.get(f"{WIDGETS2}/good"))
    assert (both.code, good.code, good.body["spec"]) == (500, 200, SHOWN)


def _renamed(obj: Json, wanted: str) -> Json:
    changed = other_shape(obj, wanted)
    return {**changed, "metadata": {**obj["metadata"], "name": "else"}}


def _unchanged(obj: Json, wanted: str) -> Json:
    return obj


def _deep(obj: Json, wanted: str) -> Json:
    nested: Any = 1
    for _ in range(300):
        nested = {"a": nested}
    return {**other_shape(obj, wanted), "deep": nested}


def _labelled(obj: Json, wanted: str) -> Json:
    metadata = {**obj["metadata"], "labels": {"a": "b"}, "generation": 77, "finalizers": ["x/y"]}
    return {**other_shape(obj, wanted), "metadata": metadata}


REFUSED = {"status": "Failed", "message": "not today"}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda _: b"[", "failed: couldn't get version/kind; json parse error: "),
        (
            lambda _: b"{}",
            "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview",
        ),
        (reviewing(lambda _: {"uid": "0"}), 'failed: expected response.uid="'),
        (reviewing(lambda request: {"uid": request["uid"], "result": REFUSED}), "failed: not today"),
        (
            reviewing(lambda request: {**success(request), "convertedObjects": []}),
            "returned 0 objects, expected 1",
        ),
        (
            reviewing(lambda request: success(request, _unchanged)),
            "returned invalid converted object at index 0: invalid groupVersion"
            " (expected example.com/v2, received example.com/v1)",
        ),
        (
            reviewing(lambda request: success(request, _renamed)),
            "returned invalid converted object at index 0: must have the same name: w != else",
        ),
        (
            lambda request: json.dumps(review_of(success(request, _deep))).encode(),
            "returned invalid converted object at index 0: exceeded max depth",
        ),
    ],
)
async def test_nonsense_is_told_and_harms_nobody_else(
    api: Api, hooks: HookServer, answer: Answer, message: str
) -> None:
    await api.post(WIDGETS, widget(spec=STORED))
    hooks.answer = answer
    for path in (f"{WIDGETS2}/w", WIDGETS2):
        reply = await api.get(path)
        assert (reply.code, reply.body.get("reason")) == (500, None)
        assert reply.message.startswith(f"conversion webhook for {NAME} {message}")
    assert (await api.patch(f"{WIDGETS2}/w", {"spec": {"left": "z"}})).code == 500
    stream = await api.get(f"{WIDGETS2}?watch=true&resourceVersion=0&timeoutSeconds=1")
    [last] = [orjson.loads(line) for line in stream.content.splitlines()]
    assert (last["type"], last["object"]["code"]) == ("ERROR", 500)
    assert (await api.get(f"{WIDGETS}/w")).body["spec"] == STORED
    hooks.answer = reviewing()
    assert (await api.get(f"{WIDGETS2}/w")).body["spec"] == SHOWN


async def test_only_labels_and_annotations_are_the_webhooks_to_change(api: Api, hooks: HookServer) -> None:
    await api.post(WIDGETS, widget(spec=STORED))
    hooks.answer = reviewing(lambda request: success(request, _labelled))
    metadata = (await api.get(f"{WIDGETS2}/w")).body["metadata"]
    assert (metadata["labels"], metadata["generation"]) == ({"a": "b"}, 1)
    assert "finalizers" not in metadata


async def test_a_webhook_that_is_down_stores_nothing(api: Api, crds: Crds) -> None:
    async with hook_server(reviewing()) as server:
        url = server.url
    await crds.define(*two_versions(), conversion=converted_by(url))
    reply = await api.post(WIDGETS2, shown(spec=SHOWN))
    address = url.removeprefix("https://").removesuffix("/hook")
    assert reply.code == 500
    assert reply.message == (
        f'conversion webhook for {V2}, Kind=Widget failed: Post "{url}?timeout=30s":'
        f" dial tcp {address}: connect: connection refused"
    )
    assert (await api.get(WIDGETS)).body["items"] == []


async def test_a_webhook_that_hangs_holds_up_only_who_needs_it(
    api: Api, crds: Crds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinepy_server.custom.conversion.TIMEOUT_S", 1)
    async with hook_server(lambda _: None) as server:
        await crds.define(*two_versions(), conversion=converted_by(server.url))
        await api.post(WIDGETS, widget(spec=STORED))
        waiting = asyncio.create_task(api.get(f"{WIDGETS2}/w"))
        assert (await api.get(f"{WIDGETS}/w")).code == 200
        assert (await api.get(f"{ROOT}/namespaces/default/widgets")).code == 200
        assert not waiting.done()
        reply = await waiting
    assert reply.code == 500
    assert reply.message.endswith('?timeout=1s": context deadline exceeded')


async def test_objects_of_an_earlier_storage_version_are_still_read(
    api: Api, crds: Crds, hooks: HookServer
) -> None:
    await api.post(WIDGETS, widget(spec=STORED))
    before = api.app.context.registry
    versions = two_versions()
    versions[0]["storage"], versions[1]["storage"] = False, True
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
    assert (await api.patch(path, {"spec": {"versions": versions}})).code == 200
    async with asyncio.timeout(5):
        while api.app.context.registry is before:
            await api.get("/api/v1/namespaces/default")
    assert (await api.get(f"{WIDGETS}/w")).body["spec"] == STORED
    assert (await api.get(f"{WIDGETS2}/w")).body["spec"] == SHOWN
    assert (await api.patch(f"{WIDGETS}/w", {"spec": {"pair": "q:r"}})).body["spec"]["pair"] == "q:r"
    assert (await api.get(f"{WIDGETS2}/w")).body["spec"]["left"] == "q"
    assert (await api.delete(f"{WIDGETS}/w")).code == 200


def _one_way(request: Json) -> Json:
    """Converts into what is stored, and refuses to convert back."""
    if request["desiredAPIVersion"] == V2:
        return {"uid": request["uid"], "result": REFUSED}
    return success(request)


async def test_a_write_that_could_not_be_answered_is_not_done(api: Api, hooks: HookServer) -> None:
    """The original stores the object and answers 500 all the same."""
    await api.post(WIDGETS, widget("there", spec=STORED))
    before = await api.get(f"{WIDGETS2}/there")
    hooks.answer = reviewing(_one_way)
    for reply in (
        await api.post(WIDGETS2, shown("new", spec=SHOWN)),
        await api.put(f"{WIDGETS2}/there", {**before.body, "spec": {**SHOWN, "left": "z"}}),
        await api.patch(f"{WIDGETS2}/there", {"spec": {"left": "z"}}),
    ):
        assert (reply.code, reply.message[-9:]) == (500, "not today")
    [left] = (await api.get(WIDGETS)).body["items"]
    assert (left["spec"], left["metadata"]["resourceVersion"]) == (STORED, before.version)


async def test_a_dry_run_shows_the_version_that_it_asked_for(api: Api, hooks: HookServer) -> None:
    made = await api.post(f"{WIDGETS2}?dryRun=All", shown(spec=SHOWN))
    assert (made.code, made.body["apiVersion"], made.body["spec"]) == (201, V2, SHOWN)
    assert (await api.get(WIDGETS)).body["items"] == []


def _coloured(obj: Json, wanted: str) -> Json:
    metadata = {**obj["metadata"], "labels": {"colour": "red" if wanted == V2 else "blue"}}
    return {**other_shape(obj, wanted), "metadata": metadata}


PARTIAL = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
PARTIAL_LIST = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
PROTOBUF = {"accept": "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


async def test_selectors_and_metadata_know_the_labels_of_the_version(api: Api, hooks: HookServer) -> None:
    stored = widget(spec=STORED)
    stored["metadata"]["labels"] = {"colour": "blue"}
    since = int((await api.post(WIDGETS, stored)).version) - 1
    hooks.answer = reviewing(lambda request: success(request, _coloured))
    for path, colour, count in ((WIDGETS, "blue", 1), (WIDGETS2, "blue", 0), (WIDGETS2, "red", 1)):
        selected = f"{path}?labelSelector=colour%3D{colour}"
        assert len((await api.get(selected)).body["items"]) == count
        stream = await api.get(f"{selected}&watch=true&resourceVersion={since}&timeoutSeconds=1")
        assert len(stream.content.splitlines()) == count
    for path, colour in ((WIDGETS, "blue"), (WIDGETS2, "red")):
        [item] = (await api.get(path, headers=PARTIAL_LIST)).body["items"]
        [row] = (await api.get(path, headers=TABLE)).body["rows"]
        alone = (await api.get(f"{path}/w", headers=PARTIAL)).body
        stream = await api.get(f"{path}?watch=true&resourceVersion={since}&timeoutSeconds=1", headers=PARTIAL)
        told = orjson.loads(stream.content)["object"]
        labels = [one["metadata"]["labels"] for one in (item, row["object"], alone, told)]
        assert labels == [{"colour": colour}] * 4
        assert colour.encode() in (await api.get(path, headers=PROTOBUF)).content


async def test_a_collection_is_deleted_by_the_labels_of_the_version(api: Api, hooks: HookServer) -> None:
    await api.post(WIDGETS, widget(spec=STORED))
    hooks.answer = reviewing(lambda request: success(request, _coloured))
    await api.delete(f"{WIDGETS2}?labelSelector=colour%3Dblue")
    assert len((await api.get(WIDGETS)).body["items"]) == 1
    await api.delete(f"{WIDGETS2}?labelSelector=colour%3Dred")
    assert (await api.get(WIDGETS)).body["items"] == []


async def test_a_webhook_that_has_learned_something_is_asked_again(
    api: Api, hooks: HookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api.post(WIDGETS, widget(spec=STORED))
    for _ in range(2):
        assert "labels" not in (await api.get(f"{WIDGETS2}/w")).body["metadata"]
    assert len(hooks.requests) == 1
    hooks.answer = reviewing(lambda request: success(request, _coloured))
    monkeypatch.setattr("kinepy_server.custom.conversion.KEPT_S", 1e-9)
    assert (await api.get(f"{WIDGETS2}/w")).body["metadata"]["labels"] == {"colour": "red"}
    assert (await api.get(WIDGETS2)).body["items"][0]["metadata"]["labels"] == {"colour": "red"}


async def test_a_database_that_is_away_while_a_service_is_looked_up_is_told_to_all_who_ask() -> None:
    async with open_store("sqlite:///:memory:") as store:
        clock = SystemClock()
        extensions = Extensions()
        extensions.places = Resolver(store, clock=clock, random=Random(1))
        client = {"service": {"namespace": "default", "name": "hook"}}
        converter = WebhookConverter({"clientConfig": client}, extensions, clock)
    value = orjson.dumps({"apiVersion": V1, "kind": "Widget", "metadata": {"name": "w"}, "spec": {}})
    asking = [asyncio.create_task(converter.convert_shared([value], V2)) for _ in range(2)]
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(one) for one in found] == [StoreClosed, StoreClosed]
    await extensions.close()
