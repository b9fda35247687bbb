"""A client that asks for protobuf first gets it: objects, lists, metadata, errors, watches."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from kinepy_server.context import Context
from kinepy_server.data import table
from kinepy_server.discovery import discovery_pages
from kinepy_server.read import handle_watch
from kinepy_server.read.framing import LENGTH_BYTES
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.decode import decode
from kinepy_server.wire.protobuf import decode_message, encode_message, open_envelope, seal
from kinepy_server.wire.protobuf_table import message_of
from tests.http.reading import reading, removed, resource, stored
from tests.http.writing import CONFIGMAPS, LEASES, Api, Reply, api_over

PROTOBUF = "application/vnd.kubernetes.protobuf"
ASKED = {"accept": f"{PROTOBUF},application/json"}
PARTIAL = {"accept": f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
PARTIAL_LIST = {"accept": f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


def opened(body: bytes) -> JsonObject:
    """An object in its envelope as the JSON that it stands for."""
    envelope = open_envelope(body)
    message = message_of(envelope.api_version, envelope.kind)
    value = decode_message(message, envelope.raw)
    return {"apiVersion": envelope.api_version, "kind": envelope.kind, **_shown(message, value)}


def _shown(message: str, value: JsonObject) -> JsonObject:
    described = message in table("schemas")["definitions"] and "items" not in value
    return decode(message, value)[0] if described else value


def answer(reply: Reply, code: int = 200) -> JsonObject:
    """The object of an answer in protobuf."""
    assert (reply.code, reply.header("content-type")) == (code, [PROTOBUF])
    return opened(reply.content)


async def test_an_object_is_the_same_in_protobuf_as_in_json(api: Api) -> None:
    await api.post(CONFIGMAPS, {"metadata": {"name": "a", "labels": {"k": "v"}}, "data": {"x": "ä" * 200}})
    plain = (await api.get(f"{CONFIGMAPS}/a")).body
    assert answer(await api.get(f"{CONFIGMAPS}/a", headers=ASKED)) == plain
    assert answer(await api.get(f"{CONFIGMAPS}/a", headers=ASKED)) == plain


async def test_a_write_in_protobuf_is_answered_in_protobuf(memory_api: Api) -> None:
    obj = {
        "metadata": {"name": "a"},
        "spec": {"holderIdentity": "me", "renewTime": "2026-01-01T00:00:00.000001Z"},
    }
    body = seal("coordination.k8s.io/v1", "Lease", encode_message("coordination.v1.Lease", obj))
    made = answer(await memory_api.post(LEASES, body, content_type=PROTOBUF, headers=ASKED), 201)
    assert made["spec"] == obj["spec"]
    made["spec"]["leaseTransitions"] = 1
    body = seal("coordination.k8s.io/v1", "Lease", encode_message("coordination.v1.Lease", made))
    changed = answer(await memory_api.put(f"{LEASES}/a", body, content_type=PROTOBUF, headers=ASKED))
    assert changed["spec"]["leaseTransitions"] == 1
    assert changed == (await memory_api.get(f"{LEASES}/a")).body


async def test_what_was_not_stored_has_no_version(memory_api: Api) -> None:
    reply = await memory_api.post(f"{CONFIGMAPS}?dryRun=All", {"metadata": {"name": "a"}}, headers=ASKED)
    assert "resourceVersion" not in answer(reply, 201)["metadata"]


async def test_a_delete_is_answered_with_a_status_in_protobuf(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, {"metadata": {"name": "a"}})
    status = answer(await memory_api.delete(f"{CONFIGMAPS}/a", headers=ASKED))
    assert (status["kind"], status["status"], status["details"]["name"]) == ("Status", "Success", "a")


async def test_an_error_is_a_status_in_protobuf(memory_api: Api) -> None:
    plain = (await memory_api.get(f"{CONFIGMAPS}/none")).body
    assert answer(await memory_api.get(f"{CONFIGMAPS}/none", headers=ASKED), 404) == plain


async def test_a_refusal_to_negotiate_is_json(memory_api: Api) -> None:
    table = f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"
    reply = await memory_api.get(CONFIGMAPS, headers={"accept": table})
    assert (reply.code, reply.header("content-type")) == (406, ["application/json"])


async def test_a_list_holds_its_objects_without_their_types(api: Api) -> None:
    for name in ("a", "b"):
        await api.post(CONFIGMAPS, {"metadata": {"name": name}, "data": {"k": name}})
    plain = (await api.get(f"{CONFIGMAPS}?limit=1")).body
    shown = answer(await api.get(f"{CONFIGMAPS}?limit=1", headers=ASKED))
    assert (shown["apiVersion"], shown["kind"]) == ("v1", "ConfigMapList")
    assert shown["metadata"]["continue"] == plain["metadata"]["continue"]
    assert shown["metadata"]["remainingItemCount"] == plain["metadata"]["remainingItemCount"]
    assert [decode("v1.ConfigMap", item)[0] for item in shown["items"]] == plain["items"]


async def test_partial_metadata_is_only_that(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    one = answer(await memory_api.get(f"{CONFIGMAPS}/a", headers=PARTIAL))
    assert (one["apiVersion"], one["kind"], one["metadata"]["name"]) == (
        "meta.k8s.io/v1",
        "PartialObjectMetadata",
        "a",
    )
    many = answer(await memory_api.get(CONFIGMAPS, headers=PARTIAL_LIST))
    assert many["kind"] == "PartialObjectMetadataList"
    assert [list(item) for item in many["items"]] == [["metadata"]]


async def test_the_older_list_of_partial_metadata_has_its_items_first(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, {"metadata": {"name": "a"}})
    headers = {"accept": PARTIAL_LIST["accept"].replace("v=v1", "v=v1beta1")}
    many = answer(await memory_api.get(CONFIGMAPS, headers=headers))
    assert (many["apiVersion"], len(many["items"])) == ("meta.k8s.io/v1beta1", 1)
    assert open_envelope((await memory_api.get(CONFIGMAPS, headers=headers)).content).raw[0] >> 3 == 1


class Frames:
    """An open watch in protobuf, read event by event."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    async def event(self) -> tuple[str, JsonObject]:
        """Type and object of the next event."""
        while not self._rest:
            self._rest = await anext(self._chunks)
        end = LENGTH_BYTES + int.from_bytes(self._rest[:LENGTH_BYTES], "big")
        frame, self._rest = self._rest[LENGTH_BYTES:end], self._rest[end:]
        kind_end = 2 + frame[1]
        kind = frame[2:kind_end].decode()
        return kind, opened(frame[frame.index(b"k8s\x00", kind_end) :])


def frames_of(response: Any) -> aclosing[Any]:
    assert response.content_type == f"{PROTOBUF};stream=watch"
    return aclosing(response.chunks)


async def test_a_watch_is_frames_of_whole_objects(context: Context) -> None:
    kind = resource()
    first = await stored(context, kind, "a", data={"k": "v"})
    request = reading(kind, "watch", query={"resourceVersion": str(first - 1)})
    request.headers = {"accept": f"{PROTOBUF};stream=watch,application/json"}
    async with frames_of(await handle_watch(context, request, kind)) as chunks:
        stream = Frames(chunks)
        event, obj = await stream.event()
        assert (event, obj["kind"], obj["data"]) == ("ADDED", "ConfigMap", {"k": "v"})
        assert obj["metadata"]["resourceVersion"] == str(first)
        gone = await removed(context, kind, "a")
        event, obj = await stream.event()
        assert (event, obj["metadata"]["resourceVersion"]) == ("DELETED", str(gone))


@pytest.mark.parametrize("headers", [ASKED, PARTIAL])
async def test_the_end_of_the_first_state_is_a_bookmark(context: Context, headers: dict[str, str]) -> None:
    kind = resource()
    await stored(context, kind, "a")
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    request = reading(kind, "watch", query=query)
    request.headers = headers
    async with frames_of(await handle_watch(context, request, kind)) as chunks:
        stream = Frames(chunks)
        assert (await stream.event())[0] == "ADDED"
        event, obj = await stream.event()
        assert event == "BOOKMARK"
        assert obj["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_watch_that_cannot_go_on_ends_with_a_status(context: Context) -> None:
    kind = resource()
    await stored(context, kind, "a")
    await stored(context, kind, "a", data={"k": "v"})
    await context.store.compact(await context.store.current_revision())
    request = reading(kind, "watch", query={"resourceVersion": "1"})
    request.headers = ASKED
    async with frames_of(await handle_watch(context, request, kind)) as chunks:
        event, obj = await Frames(chunks).event()
        assert (event, obj["kind"], obj["code"], obj["reason"]) == ("ERROR", "Status", 410, "Expired")


async def test_watchers_share_what_was_encoded_once(context: Context) -> None:
    kind = resource()
    first = await stored(context, kind, "a", data={"k": "v"})
    lines = []
    for _ in range(2):
        request = reading(kind, "watch", query={"resourceVersion": str(first - 1)})
        request.headers = ASKED
        async with frames_of(await handle_watch(context, request, kind)) as chunks:
            lines.append(await anext(chunks))
    assert lines[0] == lines[1]
    assert context.lines.bytes == len(lines[0])


async def test_discovery_is_told_in_protobuf(context: Context) -> None:
    async with api_over(context, pages=discovery_pages()) as api:
        resources = answer(await api.get("/api/v1", headers=ASKED))
        versions = answer(await api.get("/api", headers=ASKED))
    assert versions["versions"] == ["v1"]
    assert "configmaps" in [entry["name"] for entry in resources["resources"]]
