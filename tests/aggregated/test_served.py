"""What an aggregated server serves: the types of its definitions, all that there is to them, and nothing else."""

from pathlib import Path

import pytest

from tests.aggregated.authority import Authority
from tests.aggregated.servers import WIDGETS, Behind, names, serve_behind
from tests.backends import Backend
from tests.custom.definitions import widget
from tests.processes import ServerProcess, ok

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


def test_only_the_groups_of_definitions_are_told(behind: Behind) -> None:
    with behind.server.client() as admin:
        groups = ok(admin.get("/apis"))["groups"]
        assert [group["name"] for group in groups] == ["example.com"]
        told = ok(admin.http.get("/apis", headers={"accept": AGGREGATED}))
        [group] = told["items"]
        assert [version["version"] for version in group["versions"]] == ["v2", "v1"]
        assert [one["name"] for one in ok(admin.get("/apis/example.com/v1"))["resources"]] == ["widgets"]
        assert sorted(ok(admin.get("/openapi/v3"))["paths"]) == ["apis/example.com/v1", "apis/example.com/v2"]
        document = ok(admin.get("/openapi/v3/apis/example.com/v1"))
        assert "/apis/example.com/v1/namespaces/{namespace}/widgets" in document["paths"]
        paths = ok(admin.get("/openapi/v2"))["paths"]
        assert {path.split("/")[2] for path in paths if path.startswith("/apis/")} == {"example.com"}
        assert not [path for path in ok(admin.get("/"))["paths"] if path.startswith("/api/")]


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/v1",
        "/api/v1/namespaces",
        "/api/v1/namespaces/default/configmaps",
        "/apis/apps/v1/deployments",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/rbac.authorization.k8s.io/v1",
        "/openapi/v3/api/v1",
    ],
)
def test_built_in_types_are_the_host_s(path: str, behind: Behind) -> None:
    with behind.server.client() as admin:
        reply = admin.get(path)
        assert reply.status_code == 404
        assert reply.text in ("404 page not found\n", "")
        assert admin.send("POST", path, {}).status_code in (404, 405)


def test_objects_are_written_read_watched_and_deleted_together(
    tmp_path: Path, host: ServerProcess, backend: Backend, database_url: str
) -> None:
    proxies = Authority()
    option = ("--requestheader-client-ca-file", str(proxies.write(tmp_path)))
    with (
        serve_behind(host, tmp_path, *option, database=database_url) as server,
        Behind(server, proxies.issue("any")).proxied(tmp_path) as jane,
    ):
        made = ok(jane.send("POST", WIDGETS, widget("a", spec={"a": "1"})), 201)
        with jane.watch(WIDGETS, resourceVersion=made["metadata"]["resourceVersion"]) as events:
            ok(jane.merge_patch(f"{WIDGETS}/a", {"spec": {"a": "2"}}))
            assert next(events)["object"]["spec"] == {"a": "2"}
            ok(jane.send("POST", WIDGETS, widget("b")), 201)
            assert next(events)["type"] == "ADDED"
        # What a namespace controller does when the namespace goes: it lists metadata, and deletes them all.
        partial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        listed = ok(jane.http.get(WIDGETS, headers={"accept": partial}))
        assert (listed["kind"], names(listed["items"])) == ("PartialObjectMetadataList", ["a", "b"])
        ok(jane.send("DELETE", WIDGETS))
        assert ok(jane.get(WIDGETS))["items"] == []


def test_objects_are_the_same_after_a_restart(tmp_path: Path, host: ServerProcess) -> None:
    with serve_behind(host, tmp_path, database=None) as server:
        with server.client() as admin:
            ok(admin.send("POST", WIDGETS, widget("kept")), 201)
        server.stop()
        server.restart()
        with server.client() as admin:
            assert names(ok(admin.get(WIDGETS))["items"]) == ["kept"]
