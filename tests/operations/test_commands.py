"""The commands around a database, while a server runs on it and after: what they print and how they fail."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kinepy_server.cli.running import RunningServer
from tests.processes import ServerProcess, configmaps, message, run_kinepy


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("operations") / "data") as running:
        with running.client() as client:
            client.create("one")
        yield running


def succeeds(*arguments: str | Path) -> str:
    done = run_kinepy(*map(str, arguments))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def fails(*arguments: str | Path) -> str:
    """The one line that a command fails with."""
    done = run_kinepy(*map(str, arguments))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kinepy: ") and done.stderr.count("\n") == 1
    return done.stderr


def test_status_asks_the_running_server(server: ServerProcess) -> None:
    with server.client() as client, client.watch(configmaps(), resourceVersion=client.revision()):
        found = json.loads(succeeds("status", "--output", "json", "--data", server.data))
    assert found["current_revision"] >= found["compact_revision"] >= 1
    assert found["server"]["url"] == server.url
    assert found["server"]["watchers"] >= 1
    assert found["server"]["commit_batches"] >= 1
    assert found["server"]["batch_size_p50"] >= 1
    assert "batch size, p50 and p99" in succeeds("status", "--data", server.data)


def test_status_without_a_server_tells_what_the_database_does(tmp_path: Path) -> None:
    succeeds("migrate", "--data", tmp_path)
    assert json.loads(succeeds("status", "-o", "json", "--data", tmp_path))["server"] is None
    assert "none answers" in succeeds("status", "--data", tmp_path)
    (tmp_path / "kubeconfig").write_text("no: kubeconfig\n")
    assert "none answers" in succeeds("status", "--data", tmp_path)
    assert "--output" in fails("status", "--output", "xml", "--data", tmp_path)


def test_status_of_another_database_does_not_ask_the_server_of_the_folder(
    server: ServerProcess, tmp_path: Path
) -> None:
    succeeds("migrate", "--data", tmp_path)
    other = f"sqlite:///{tmp_path}/kinepy.db"
    found = json.loads(succeeds("status", "-o", "json", "--data", server.data, "--database", other))
    assert found["server"] is None
    own = f"sqlite:///{server.data}/kinepy.db"
    found = json.loads(succeeds("status", "-o", "json", "--data", server.data, "--database", own))
    assert found["server"]["url"] == server.url


def test_batch_sizes_are_told_from_the_buckets() -> None:
    server = RunningServer("", {}, ((1.0, 50.0), (8.0, 98.0), (64.0, 100.0), (float("inf"), 100.0)))
    assert (server.batch_size(0.5), server.batch_size(0.99)) == (1.0, 64.0)
    assert RunningServer("", {}, ()).batch_size(0.5) is None


def test_a_restore_of_a_server_brings_back_the_objects_and_expires_watches(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        with server.client() as client:
            client.create("kept")
            backup = tmp_path / "backup.gz"
            assert succeeds("backup", backup, "--data", server.data).startswith("backed up revision ")
            seen = int(client.create("lost")["metadata"]["resourceVersion"])
        server.stop()
        assert "is not empty" in fails("restore", backup, "--data", server.data)
        assert "epoch 2 starts" in succeeds("restore", backup, "--force", "--data", server.data)
        server.restart()
        with server.client() as client:
            names = [item["metadata"]["name"] for item in client.get(configmaps()).json()["items"]]
            assert "kept" in names and "lost" not in names
            message(
                client.get(configmaps(), resourceVersion=seen, resourceVersionMatch="Exact"), 410, "Expired"
            )
            with client.watch(configmaps(), resourceVersion=seen) as events:
                assert next(events)["object"]["code"] == 410
            assert int(client.create("new")["metadata"]["resourceVersion"]) > seen
        assert succeeds("check", "--data", server.data).startswith("all is well")


def test_an_export_of_a_running_server_moves_to_another_folder(server: ServerProcess, tmp_path: Path) -> None:
    assert "exported the history" in succeeds("export", tmp_path / "a.gz", "--history", "--data", server.data)
    assert succeeds("import", tmp_path / "a.gz", "--data", tmp_path / "new").startswith("imported ")
    assert succeeds("check", "--data", tmp_path / "new").startswith("all is well")


def test_check_finds_damage_online_and_offline(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        with server.client() as client:
            client.create("one")
        assert succeeds("check", "--data", server.data).startswith("all is well")
        with closing(sqlite3.connect(server.data / "kinepy.db", isolation_level=None)) as raw:
            raw.execute("UPDATE head SET version = version + 1 WHERE CAST(key AS TEXT) LIKE '%/one'")
        assert damage_found(server.data)
        server.stop()
        assert damage_found(server.data)


def damage_found(data: Path) -> bool:
    """Whether `kinepy check` tells of a broken head, and fails."""
    done = run_kinepy("check", "--data", str(data))
    return done.returncode == 1 and "broken: head of key" in done.stdout and "1 problems" in done.stderr


@pytest.mark.parametrize("command", ["restore", "import"])
def test_a_file_that_is_not_there_is_told(command: str, tmp_path: Path) -> None:
    assert "No such file" in fails(command, tmp_path / "none", "--data", tmp_path / "data")
    assert not (tmp_path / "data" / "kinepy.db").exists()


@pytest.mark.parametrize("command", ["restore", "import"])
def test_a_file_that_is_something_else_makes_no_database(command: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello\n")
    assert "is no export of kinepy" in fails(command, tmp_path / "text", "--data", tmp_path / "data")
    assert not (tmp_path / "data" / "kinepy.db").exists()


@pytest.mark.parametrize("command", ["backup", "export"])
def test_a_file_that_cannot_be_written_is_told(command: str, tmp_path: Path) -> None:
    succeeds("migrate", "--data", tmp_path)
    assert "is no folder" in fails(command, tmp_path / "none" / "file", "--data", tmp_path)
    assert "is a folder" in fails(command, tmp_path, "--data", tmp_path)
    assert "no database" in fails(command, tmp_path / "file", "--data", tmp_path / "none")
