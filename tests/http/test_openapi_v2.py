"""The Swagger description: complete, the same in both of its forms, asked for again for nothing."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.openapi_v2 import PROTOBUF, handle_swagger
from kinepy_server.openapi_v2_document import DEFINITIONS
from kinepy_server.request import Request
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.response import Response
from kinepy_server.wire.protobuf_wire import BYTES, read_chunk, read_varint
from tests.http.reading import ADMIN

REGISTRY = builtin_registry()
ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


async def ask(accept: str = "", **headers: str) -> Response:
    async with open_store("sqlite:///:memory:") as store:
        asked = {"accept": accept} | {name.replace("_", "-"): value for name, value in headers.items()}
        return await handle_swagger(Context(store, REGISTRY), Request("GET", "/openapi/v2", {}, asked, ADMIN))


async def document() -> Any:
    body = (await ask()).body
    assert isinstance(body, bytes)
    return orjson.loads(body)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        (ASKED, PROTOBUF),
        (PROTOBUF, PROTOBUF),
        (f"{ASKED}, application/json", PROTOBUF),
        (f"{ASKED};q=0.5, application/json", "application/json"),
    ],
)
async def test_the_form_is_negotiated(accept: str, content_type: str) -> None:
    answer = await ask(accept)
    assert (answer.status, answer.content_type) == (200, content_type)


async def test_another_form_is_406() -> None:
    answer = await ask("application/yaml")
    assert (answer.status, answer.body) == (406, b"")


async def test_what_the_client_has_is_not_sent_again() -> None:
    etag = (await ask()).headers["ETag"]
    again = await ask(ASKED, if_none_match=etag)
    assert (again.status, again.body, again.headers["ETag"]) == (304, b"", etag)


async def test_it_refers_to_nothing_that_is_missing() -> None:
    found = await document()
    missing = {reference.removeprefix(DEFINITIONS) for reference in references(found)} - found[
        "definitions"
    ].keys()
    assert not missing


async def test_every_resource_and_its_kind_are_described() -> None:
    found = await document()
    described = {
        (kind["group"], kind["version"], kind["kind"])
        for definition in found["definitions"].values()
        for kind in definition.get("x-kubernetes-group-version-kind", ())
    }
    assert {(r.group, r.version, r.kind) for r in REGISTRY.all()} <= described
    item = found["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]
    assert item["patch"]["x-kubernetes-group-version-kind"]["kind"] == "ConfigMap"
    assert item["put"]["parameters"][0]["in"] == "body"


async def test_a_value_of_two_types_is_a_string() -> None:
    definitions = (await document())["definitions"]
    assert definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] == {
        "type": "string", "format": "int-or-string",
    }  # fmt: skip
    assert definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] == {"type": "string"}


def fields(message: bytes) -> list[tuple[int, bytes]]:
    """The fields of a message whose fields are all length-delimited."""
    found, at = [], 0
    while at < len(message):
        tag, at = read_varint(message, at, len(message))
        assert tag & 7 == BYTES
        start, at = read_chunk(message, at, len(message))
        found.append((tag >> 3, message[start:at]))
    return found


async def test_the_message_names_the_same_definitions_and_paths() -> None:
    found = await document()
    body = (await ask(PROTOBUF)).body
    assert isinstance(body, bytes)
    message = dict(fields(body))
    assert message[1] == b"2.0"
    for number, inner, section in ((8, 2, "paths"), (9, 1, "definitions")):
        entries = fields(message[number])
        assert {entry for entry, _ in entries} == {inner}
        assert [dict(fields(entry))[1].decode() for _, entry in entries] == list(found[section])
