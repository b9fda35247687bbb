"""The commands that look after a database, while a server runs on it and after."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinepy_server.cli.problems import Problem
from kinepy_server.cli.upkeep import duration_s
from tests.processes import ServerProcess, configmaps, message, ok, run_kinepy


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("upkeep") / "data") as running:
        yield running


def kinepy(server: ServerProcess, *arguments: str) -> str:
    """What a command that must succeed prints."""
    done = run_kinepy(arguments[0], "--data", str(server.data), *arguments[1:])
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_status_tells_revision_and_size(server: ServerProcess) -> None:
    with server.client() as client:
        client.create("status")
        revision = client.revision()
    figures = dict(re.split(r" {2,}", line) for line in kinepy(server, "status").splitlines())
    assert int(figures["current revision"]) >= revision
    assert int(figures["keys"]) >= 5


def test_compact_gives_up_history_at_once(server: ServerProcess) -> None:
    with server.client() as client:
        revision = int(client.create("compact")["metadata"]["resourceVersion"])
        client.delete("compact")
        exact: dict[str, str | int] = {"resourceVersion": revision, "resourceVersionMatch": "Exact"}
        assert ok(client.get(configmaps(), **exact))
        assert re.fullmatch(r"compacted to revision \d+\n", kinepy(server, "compact"))
        deadline = time.monotonic() + 10
        while (answer := client.get(configmaps(), **exact)).status_code == 200:
            assert time.monotonic() < deadline, "the server did not notice the compaction"
        assert message(answer, 410, "Expired") == "The resourceVersion for the provided list is too old."


def test_compact_keeps_what_it_is_told_to_keep(server: ServerProcess) -> None:
    assert kinepy(server, "compact", "--keep", "1h") == "nothing to do: all history is younger than 1h\n"
    assert kinepy(server, "compact", "--keep", "0s").startswith("compacted to revision ")


def test_check_finds_all_well(server: ServerProcess) -> None:
    assert kinepy(server, "check").startswith("all is well: ")


def test_migrate_has_nothing_to_do(server: ServerProcess) -> None:
    assert kinepy(server, "migrate") == "the schema is up to date\n"


def test_a_new_epoch_jumps_ahead_and_expires_what_was(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        with server.client() as client:
            old = int(client.create("before")["metadata"]["resourceVersion"])
        server.stop()
        assert kinepy(server, "new-epoch").startswith("epoch 2 starts at revision ")
        server.restart()
        with server.client() as client:
            new = int(client.create("after")["metadata"]["resourceVersion"])
            assert new > old + 2**31
            with client.watch(configmaps(), resourceVersion=old) as events:
                assert next(events)["object"]["code"] == 410
        assert kinepy(server, "check").startswith("all is well: ")


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("10m", 600), ("1.5h", 5400), ("7d", 604800)])
def test_durations(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "1", "h", "1h30m", "-1h", "1w"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(Problem, match="is no duration"):
        duration_s(text)
