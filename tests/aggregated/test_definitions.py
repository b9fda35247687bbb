"""Types come from files of definitions."""

import base64
import ssl
from pathlib import Path

import httpx
import yaml

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.custom.given import apply_definitions
from kinepy_server.resources.builtins import builtin_registry
from tests.aggregated.servers import WIDGET, WIDGETS, behind_options, write_definitions
from tests.custom.definitions import definition, spec_schema, version, widget
from tests.processes import ServerProcess, free_port, ok, run_kinepy


def test_a_file_that_was_changed_counts_from_the_next_start_on(host: ServerProcess, tmp_path: Path) -> None:
    file = write_definitions(tmp_path, definition(version()))
    options = behind_options(host, file)
    with ServerProcess(tmp_path / "data", options=options) as server:
        with server.client() as admin:
            ok(admin.send("POST", WIDGETS, widget("a", spec={"a": "1", "b": "2"})), 201)
        server.stop()
        schema = spec_schema(a={"type": "string"}, b={"type": "string", "default": "3"})
        write_definitions(tmp_path, definition(version(schema=schema)))
        server.restart()
        with server.client() as admin:
            assert ok(admin.get(f"{WIDGETS}/a"))["spec"] == {"a": "1", "b": "3"}


async def test_definitions_that_are_so_already_are_not_written(database_url: str) -> None:
    async with open_store(database_url) as store:
        context = Context(store, builtin_registry())
        await apply_definitions(context, [WIDGET])
        before = await store.current_revision()
        await apply_definitions(context, [WIDGET])
        assert await store.current_revision() == before


def test_a_folder_is_read_whole_and_other_kinds_are_passed_over(host: ServerProcess, tmp_path: Path) -> None:
    crds = tmp_path / "crds"
    (crds / "more").mkdir(parents=True)
    gadgets = definition(plural="gadgets", kind="Gadget", group="example.org")
    (crds / "list.yaml").write_text(yaml.safe_dump({"kind": "List", "items": [definition(version())]}))
    (crds / "more" / "gadgets.yml").write_text("---\n" + yaml.safe_dump_all([gadgets, {"kind": "Role"}]))
    (crds / "README.md").write_text("no YAML: {")
    with (
        ServerProcess(
            tmp_path / "data", database="sqlite:///:memory:", options=behind_options(host, crds)
        ) as server,
        server.client() as admin,
    ):
        groups = ok(admin.get("/apis"))["groups"]
    assert [group["name"] for group in groups] == ["example.com", "example.org"]


def refused(host: ServerProcess, folder: Path, *options: str) -> str:
    """The line with which the command ends."""
    listen = ("--listen", f"127.0.0.1:{free_port()}", "--database", "sqlite:///:memory:")
    ended = run_kinepy("serve", "--data", str(folder / "data"), *listen, *options)
    assert ended.returncode == 1, ended
    return ended.stderr


def test_a_definition_that_is_refused_ends_the_start(host: ServerProcess, tmp_path: Path) -> None:
    bad = definition(version(schema={"type": "object", "properties": {"spec": {"type": "nonsense"}}}))
    text = refused(host, tmp_path, *behind_options(host, write_definitions(tmp_path, bad)))
    last = text.splitlines()[-1]
    assert last.startswith(
        "kinepy: the definition 'widgets.example.com' is refused: CustomResourceDefinition"
    )


def test_what_is_missing_is_said_in_one_line(host: ServerProcess, tmp_path: Path) -> None:
    definitions = write_definitions(tmp_path)
    empty = tmp_path / "empty.yaml"
    empty.write_text("kind: Role\n")
    behind = behind_options(host, definitions)
    cases = {
        ("--aggregated",): "give --host-kubeconfig FILE",
        ("--aggregated", "--host-kubeconfig", str(empty)): "is no kubeconfig",
        behind_options(host, empty): "there is no CustomResourceDefinition in",
        (*behind, "--insecure"): "leave --insecure out",
        (*behind, "--controllers", "namespaces"): "leave --controllers out",
        (*behind, "--authorization-mode", "AlwaysAllow"): "leave --authorization-mode out",
        (*behind, "--requestheader-allowed-names", "a"): "give --requestheader-client-ca-file too",
        (*behind, "--requestheader-client-ca-file", str(empty)): "holds no certificate",
        ("--definitions", str(definitions)): "--definitions belongs to --aggregated",
    }
    for options, text in cases.items():
        said = refused(host, tmp_path, *options)
        assert text in said and said.count("\n") == 1, said


def test_without_a_host_there_is_no_start(tmp_path: Path) -> None:
    down = ServerProcess(tmp_path / "down")
    with down:
        pass
    text = refused(down, tmp_path, *behind_options(down, write_definitions(tmp_path)))
    assert "the host cannot be asked" in text and "connection refused" in text


def test_a_host_that_does_not_let_its_configmap_be_read_says_so(host: ServerProcess, tmp_path: Path) -> None:
    weak = tmp_path / "weak.kubeconfig"
    weak.write_text(run_kinepy("kubeconfig", "--data", str(host.data), "--user", "weak").stdout)
    definitions = write_definitions(tmp_path)
    text = refused(
        host, tmp_path, "--aggregated", "--host-kubeconfig", str(weak), "--definitions", str(definitions)
    )
    assert "the Role extension-apiserver-authentication-reader in kube-system" in text


def test_the_host_is_told_where_to_find_the_types(host: ServerProcess, tmp_path: Path) -> None:
    data, definitions = tmp_path / "data", write_definitions(tmp_path)
    printed = run_kinepy(
        *("apiservice", "--data", str(data), "--definitions", str(definitions), "--service", "sys/kinepy")
    )
    objects = list(yaml.safe_load_all(printed.stdout))
    assert [one["metadata"]["name"] for one in objects] == ["v1.example.com", "v2.example.com"]
    assert objects[0]["spec"]["service"] == {"namespace": "sys", "name": "kinepy", "port": 443}
    with ServerProcess(
        data, database="sqlite:///:memory:", options=behind_options(host, definitions)
    ) as server:
        with host.client() as admin:
            for one in objects:
                ok(admin.send("POST", "/apis/apiregistration.k8s.io/v1/apiservices", one), 201)
        # The host trusts the bundle, and calls the server by its Service's name.
        ca = base64.b64decode(objects[0]["spec"]["caBundle"]).decode()
        tls = ssl.create_default_context(cadata=ca)
        with httpx.Client(verify=tls, trust_env=False) as client:
            reply = client.get(f"{server.url}/readyz", extensions={"sni_hostname": "kinepy.sys.svc"})
    assert reply.text == "ok"


def test_a_server_that_must_be_restarted_for_its_new_name_is_told_of(tmp_path: Path) -> None:
    data, definitions = tmp_path / "data", write_definitions(tmp_path)

    def told(service: str) -> str:
        options = ("--data", str(data), "--definitions", str(definitions), "--service", service)
        return run_kinepy("apiservice", *options).stderr

    assert told("sys/kinepy") == "", "before the first start there is nothing to restart"
    assert "holds other.sys.svc from now on: restart `kinepy serve`" in told("sys/other")
    assert told("sys/other") == "", "the certificate has the name already"
