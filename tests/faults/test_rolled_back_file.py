"""An SQLite file that is rolled back to an older copy, under a running and under a stopped server."""

import shutil
from pathlib import Path

import pytest

from tests.processes import Client, ServerProcess, configmaps, message

OPTIONS = ("--controllers", "none")
FILES = ("kinepy.db", "kinepy.db-wal", "kinepy.db-shm")


def copy_of(server: ServerProcess, folder: Path) -> None:
    """Yesterday's copy, made as a snapshot of the file system would make it."""
    folder.mkdir()
    for name in FILES:
        if (server.data / name).exists():
            shutil.copy2(server.data / name, folder / name)


def bring_back(server: ServerProcess, folder: Path) -> None:
    """Put the copy in the files' place."""
    for name in FILES:
        (server.data / name).unlink(missing_ok=True)
        if (folder / name).exists():
            shutil.copy2(folder / name, server.data / name)


def is_ahead_of(client: Client, lost: list[int]) -> None:
    """Clients of before are told to list again, and no revision of before comes to mean something else."""
    made = int(client.create("after")["metadata"]["resourceVersion"])
    assert made > max(lost) + 1
    expired = client.get(configmaps(), resourceVersion=max(lost), resourceVersionMatch="Exact")
    message(expired, 410, "Expired")
    with client.watch(configmaps(), resourceVersion=lost[0]) as events:
        event = next(events)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    names = {item["metadata"]["name"] for item in client.get(configmaps()).json()["items"]}
    assert names == {"kept", "after"}


def lose(client: Client) -> list[int]:
    """Write what the rollback will take away; returns the revisions."""
    return [int(client.create(f"lost-{i}")["metadata"]["resourceVersion"]) for i in range(5)]


def test_under_a_stopped_server(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", insecure=True, options=OPTIONS) as server:
        with server.client() as client:
            client.create("kept")
            copy_of(server, tmp_path / "yesterday")
            lost = lose(client)
        server.stop()
        bring_back(server, tmp_path / "yesterday")
        server.restart()
        with server.client() as client:
            is_ahead_of(client, lost)


def test_under_a_running_server_that_must_be_restarted(tmp_path: Path) -> None:
    """SQLite cannot go on in a file that was exchanged: nothing is acknowledged until the restart."""
    with ServerProcess(tmp_path / "data", insecure=True, options=OPTIONS) as server:
        with server.client() as client:
            client.create("kept")
            copy_of(server, tmp_path / "yesterday")
            lost = lose(client)
            bring_back(server, tmp_path / "yesterday")
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "between"}}
            message(client.send("POST", configmaps(), body), 503, "ServiceUnavailable")
            message(client.get(configmaps()), 503, "ServiceUnavailable")
            assert client.get("/readyz").status_code == 500
        server.stop()
        server.restart()
        with server.client() as client:
            is_ahead_of(client, lost)


def test_under_a_killed_server(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", insecure=True, options=OPTIONS) as server:
        with server.client() as client:
            client.create("kept")
            copy_of(server, tmp_path / "yesterday")
            lost = lose(client)
        server.kill()
        bring_back(server, tmp_path / "yesterday")
        server.restart()
        with server.client() as client:
            is_ahead_of(client, lost)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_restart_alone_is_no_rollback(tmp_path: Path, end: str) -> None:
    with ServerProcess(tmp_path / "data", insecure=True, options=OPTIONS) as server:
        with server.client() as client:
            first = int(client.create("one")["metadata"]["resourceVersion"])
        getattr(server, end)()
        server.restart()
        with server.client() as client, client.watch(configmaps(), resourceVersion=first) as events:
            second = int(client.create("two")["metadata"]["resourceVersion"])
            # Servers write some records of their own; an epoch is further away.
            assert first < second < first + 1000
            assert next(events)["object"]["metadata"]["resourceVersion"] == str(second)
