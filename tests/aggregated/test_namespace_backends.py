"""What a dying namespace says of servers behind that do not answer, and which of their resources are looked at."""

from collections.abc import Mapping
from typing import Any

import orjson

from kinepy import open_store
from kinepy_server.aggregation.apiservice import ApiService, ServiceReference
from kinepy_server.aggregation.documents import CURRENT, STALE
from kinepy_server.aggregation.proxy import Proxy
from kinepy_server.aggregation.resolver import Resolver
from kinepy_server.aggregation.state import Published
from kinepy_server.aggregation.transport import Transport
from kinepy_server.context import Context
from kinepy_server.controllers.namespace_backends import CONTROLLER, delete_on_backends
from kinepy_server.controllers.namespace_conditions import Remaining, set_conditions
from kinepy_server.resources.builtins import builtin_registry
from tests.aggregation.backend import NAME, Asked, pki, running_backend, service
from tests.http.writing import api_over

ALL = ["create", "delete", "deletecollection", "get", "list"]


def resource(plural: str, *verbs: str, scope: str = "Namespaced") -> dict[str, Any]:
    """A resource as discovery tells it."""
    return {"resource": plural, "scope": scope, "verbs": list(verbs or ALL)}


async def deleted(
    documents: dict[str, Any], answers: Mapping[str, tuple[int, Any]] | None = None
) -> tuple[list[str], Remaining]:
    """What a backend with these versions is asked, and what remains; it has nothing unless `answers` say it has."""
    remaining, asked = Remaining(), list[str]()

    async def answer(request: Asked) -> None:
        asked.append(f"{request.method} {request.path}")
        assert request.header("x-remote-user") == [CONTROLLER.name]
        code, body = (answers or {}).get(asked[-1], (200, {"items": []}))
        await request.answer(code, orjson.dumps(body))

    async with open_store("sqlite:///:memory:") as store, running_backend() as backend:
        backend.answer = answer
        context = Context(store, builtin_registry())
        async with api_over(context) as api:
            assert (await api.post("/api/v1/namespaces/default/services", service())).code == 201
            put_behind(context, backend.port, documents)
            await delete_on_backends(context, "ns", remaining)
    return asked, remaining


def put_behind(context: Context, port: int, documents: Mapping[str, Any]) -> None:
    """Let a context know the versions of a group that the backend serves."""
    state, ca = context.aggregation, pki(NAME).ca.read_text()
    where = ServiceReference("default", NAME, port)
    remote = [
        ApiService(f"{version}.g.io", "g.io", version, where, ca, available=True) for version in documents
    ]
    resolver = Resolver(context.store, clock=context.clock, random=context.random)
    state.proxy = Proxy(Transport(state.identity), resolver, context.settings)
    state.remote = {one.group_version: one for one in remote}
    told = {("g.io", version): document for version, document in documents.items()}
    state.published = Published(remote, documents=told)


async def test_each_resource_is_deleted_once_in_its_preferred_version() -> None:
    asked, remaining = await deleted(
        {
            "v1": {"resources": [resource("a")], "freshness": CURRENT},
            "v1beta1": {"resources": [resource("a"), resource("b")], "freshness": CURRENT},
        }
    )
    assert asked == [
        "DELETE /apis/g.io/v1/namespaces/ns/a",
        "GET /apis/g.io/v1/namespaces/ns/a",
        "DELETE /apis/g.io/v1beta1/namespaces/ns/b",
        "GET /apis/g.io/v1beta1/namespaces/ns/b",
    ]
    assert not remaining


async def test_what_cannot_be_deleted_and_what_is_in_no_namespace_is_left_alone() -> None:
    told = [resource("metrics", "get", "list"), resource("c", *ALL, scope="Cluster")]
    asked, remaining = await deleted({"v1": {"resources": told, "freshness": CURRENT}})
    assert (asked, bool(remaining)) == ([], False)


async def test_objects_that_cannot_be_deleted_together_are_deleted_one_by_one() -> None:
    path = "/apis/g.io/v1/namespaces/ns/a"
    items = {"items": [{"metadata": {"name": "x"}}, {"metadata": {"name": "y"}}]}
    told = {"v1": {"resources": [resource("a", "delete", "list")], "freshness": CURRENT}}
    asked, remaining = await deleted(told, {f"GET {path}": (200, items)})
    assert asked == [f"GET {path}", f"DELETE {path}/x", f"DELETE {path}/y", f"GET {path}"]
    assert remaining.objects == {"a.g.io": 2}


async def test_a_refusal_is_told() -> None:
    path = "/apis/g.io/v1/namespaces/ns/a"
    told = {"v1": {"resources": [resource("a")], "freshness": CURRENT}}
    _, remaining = await deleted(told, {f"DELETE {path}": (500, {"message": "broken"})})
    assert remaining.failures == [f"{path}: broken"]


async def test_a_list_of_what_is_no_object_holds_the_namespace() -> None:
    path = "/apis/g.io/v1/namespaces/ns/a"
    told = {"v1": {"resources": [resource("a")], "freshness": CURRENT}}
    nonsense: list[Any] = [[{}], [{"metadata": {"name": 5}}], {"a": 1}, 5]
    for items in nonsense:
        _, remaining = await deleted(told, {f"GET {path}": (200, {"items": items})})
        assert remaining.failures == [f"{path}: the backend's list holds what is no object"]


async def test_the_name_of_a_resource_is_no_part_of_a_request_but_its_place() -> None:
    told = {"v1": {"resources": [resource("a b/../c")], "freshness": CURRENT}}
    asked, _ = await deleted(told, {})
    assert asked[0] == "DELETE /apis/g.io/v1/namespaces/ns/a%20b%2F..%2Fc"


async def test_a_server_that_does_not_tell_what_it_has_holds_the_namespace() -> None:
    asked, remaining = await deleted({"v1": {"freshness": STALE}})
    assert (asked, bool(remaining)) == ([], True)
    namespace: dict[str, Any] = {}
    set_conditions(namespace, remaining, now="now")
    condition = namespace["status"]["conditions"][0]
    assert condition == {
        "type": "NamespaceDeletionDiscoveryFailure",
        "status": "True",
        "reason": "DiscoveryFailed",
        "message": "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs:"
        " g.io/v1: stale GroupVersion discovery: g.io/v1",
        "lastTransitionTime": "now",
    }
