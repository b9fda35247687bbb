"""Discovery, OpenAPI and the version tell what is served, in the form that was asked for."""

# ruff: noqa: E501 -- recorded texts stand on one line

import re
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from kinepy import open_store
from kinepy_server.auth.user import User
from kinepy_server.context import Context
from kinepy_server.discovery import AGGREGATED, handle_discovery, handle_root
from kinepy_server.errors import PlainError, StatusError
from kinepy_server.openapi import handle_document, handle_index
from kinepy_server.request import Request
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.response import Response, StreamResponse
from kinepy_server.version import handle_version


@pytest.fixture
async def context() -> AsyncIterator[Context]:
    async with open_store("sqlite:///:memory:") as store:
        yield Context(store, builtin_registry())


def request(path: str, *, method: str = "GET", query: Any = None, **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method, path, query or {}, named, User("admin"))


def body(answer: Response | StreamResponse) -> Any:
    assert isinstance(answer, Response) and isinstance(answer.body, bytes)
    return orjson.loads(answer.body)


async def test_the_core_group_is_listed_without_api_version(context: Context) -> None:
    resources = body(await handle_discovery(context, request("/api/v1")))
    assert "apiVersion" not in resources
    named = {entry["name"]: entry for entry in resources["resources"]}
    assert named["configmaps"] == {
        "kind": "ConfigMap", "name": "configmaps", "namespaced": True, "shortNames": ["cm"], "singularName": "configmap",
        "storageVersionHash": "qFsyl6wFWjQ=",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    }  # fmt: skip
    assert named["serviceaccounts/token"]["group"] == "authentication.k8s.io"
    assert list(named) == sorted(named)


async def test_groups_and_their_versions_are_listed(context: Context) -> None:
    groups = body(await handle_discovery(context, request("/apis")))["groups"]
    group = body(await handle_discovery(context, request("/apis/coordination.k8s.io")))
    version = {"groupVersion": "coordination.k8s.io/v1", "version": "v1"}
    assert group == {
        "kind": "APIGroup", "apiVersion": "v1", "name": "coordination.k8s.io", "versions": [version], "preferredVersion": version,
    }  # fmt: skip
    assert [entry["name"] for entry in groups] == [g.name for g in context.registry.groups() if g.name]


async def test_the_address_to_use_is_told(context: Context) -> None:
    answer = body(await handle_discovery(context, request("/api/", host="h:1")))
    assert answer["serverAddressByClientCIDRs"] == [{"clientCIDR": "0.0.0.0/0", "serverAddress": "h:1"}]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/api/v2", StatusError),
        ("/apis/coordination.k8s.io/v9", StatusError),
        ("/apis/nope.example.com", PlainError),
        ("/apis/nope.example.com/v1", PlainError),
        ("/api//v1", PlainError),
    ],
)
async def test_what_is_not_served_is_404(context: Context, path: str, error: type[Exception]) -> None:
    for method in ("GET", "POST"):
        with pytest.raises(error) as caught:
            await handle_discovery(context, request(path, method=method))
        assert getattr(caught.value, "code", None) == 404


async def test_discovery_is_for_reading(context: Context) -> None:
    with pytest.raises(StatusError, match="does not allow this method"):
        await handle_discovery(context, request("/api/v1", method="POST"))


@pytest.mark.parametrize(
    "accept",
    [
        AGGREGATED,
        f"{AGGREGATED};profile=nopeer",
        f"{AGGREGATED},{AGGREGATED.replace('v2', 'v2beta1')},application/json",
    ],
)
async def test_aggregated_discovery_is_recognized_by_its_content_type(context: Context, accept: str) -> None:
    answer = await handle_discovery(context, request("/apis", accept=accept))
    assert answer.content_type == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert answer.headers["Vary"] == "Accept"
    assert body(answer)["kind"] == "APIGroupDiscoveryList"


async def test_aggregated_discovery_is_answered_once_to_who_keeps_it(context: Context) -> None:
    first = await handle_discovery(context, request("/api", accept=AGGREGATED))
    assert re.fullmatch(r'"[0-9A-F]{128}"', first.headers["ETag"])
    again = await handle_discovery(
        context, request("/api", accept=AGGREGATED, if_none_match=first.headers["ETag"])
    )
    assert (again.status, again.body) == (304, b"")


async def test_aggregated_kinds_of_the_core_group_have_no_group_and_version(context: Context) -> None:
    (core,) = body(await handle_discovery(context, request("/api", accept=AGGREGATED)))["items"]
    kinds = {entry["resource"]: entry for entry in core["versions"][0]["resources"]}
    assert core["metadata"] == {}
    assert kinds["secrets"]["responseKind"] == {"group": "", "version": "", "kind": "Secret"}
    assert kinds["serviceaccounts"]["subresources"][0]["responseKind"] == {
        "group": "authentication.k8s.io",
        "version": "v1",
        "kind": "TokenRequest",
    }


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/api", AGGREGATED.replace("v2", "v2beta1")), ("/apis/coordination.k8s.io", AGGREGATED)],
)
async def test_a_form_that_is_not_there_is_406(context: Context, path: str, accept: str) -> None:
    with pytest.raises(StatusError) as caught:
        await handle_discovery(context, request(path, accept=accept))
    assert caught.value.code == 406


async def test_the_root_lists_every_path_in_order(context: Context) -> None:
    paths = body(await handle_root(context, request("/")))["paths"]
    assert paths == sorted(paths)
    assert {"/api/v1", "/apis/coordination.k8s.io/v1", "/healthz", "/version"} <= set(paths)


async def test_the_version_is_a_semantic_version_of_the_served_minor(context: Context) -> None:
    version = body(await handle_version(context, request("/version")))
    assert re.fullmatch(r"v1\.36\.\d+\+kinepy\.\d+\.\d+\.\d+\S*", version["gitVersion"])
    assert (version["major"], version["minor"]) == ("1", "36")


async def test_openapi_tells_the_address_of_every_document_by_its_hash(context: Context) -> None:
    index = await handle_index(context, request("/openapi/v3"))
    assert index.content_type == "text/plain; charset=utf-8"
    for path, entry in body(index)["paths"].items():
        address, _, right = entry["serverRelativeURL"].partition("?hash=")
        assert address == f"/openapi/v3/{path}"
        kept = await handle_document(context, request(address, query={"hash": [right]}))
        assert kept.headers["Cache-Control"] == "public, immutable"
        moved = await handle_document(context, request(address, query={"hash": ["wrong"]}))
        assert (moved.status, moved.headers["Location"]) == (301, entry["serverRelativeURL"])
        known = await handle_document(context, request(address, if_none_match=f'"{right}"'))
        assert known.status == 304


async def test_an_openapi_document_of_nothing_is_404(context: Context) -> None:
    assert (await handle_document(context, request("/openapi/v3/apis/frob/v1"))).status == 404


async def test_openapi_has_what_kubectl_looks_for(context: Context) -> None:
    document = body(await handle_document(context, request("/openapi/v3/api/v1")))
    patch = document["paths"]["/api/v1/namespaces/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Namespace"}
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}
    get = document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["get"]
    assert get["operationId"] == "readCoreV1NamespacedConfigMap"
    secrets = document["components"]["schemas"]["io.k8s.api.core.v1.ServiceAccount"]["properties"]["secrets"]
    assert secrets["x-kubernetes-list-map-keys"] == ["name"]


async def test_openapi_refers_to_nothing_that_is_missing(context: Context) -> None:
    for path in body(await handle_index(context, request("/openapi/v3")))["paths"]:
        await check_references(context, path)


async def check_references(context: Context, path: str) -> None:
    answer = await handle_document(context, request(f"/openapi/v3/{path}"))
    assert isinstance(answer, Response) and isinstance(answer.body, bytes)
    referred = set(re.findall(r'"#/components/schemas/([^"]+)"', answer.body.decode()))
    assert referred <= set(body(answer)["components"]["schemas"])
