"""client-go and controller-runtime, unmodified, in one program: clients, informers, elections, managers."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.servers import compact
from tests.backends import CreatePostgres
from tests.processes import ServerProcess

MODULE = Path(__file__).parent / "go"
BUILD_S = 1200
RUN_S = 55
WATCH_LIST = "KUBE_FEATURE_WatchListClient"

pytestmark = [pytest.mark.go, pytest.mark.slow, pytest.mark.timeout(BUILD_S + RUN_S)]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built once; what it is made of is kept in Go's own cache."""
    built = tmp_path_factory.mktemp("go") / "clients"
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", "-o", str(built), "."]
    subprocess.run(command, cwd=MODULE, check=True, timeout=BUILD_S)
    return built


@pytest.fixture(scope="module", params=["sqlite-file", "postgres"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """`kinepy serve` as it comes, on each database."""
    database: str | None = None
    if request.param == "postgres":
        create: CreatePostgres = request.getfixturevalue("create_postgres")
        database = create(True)
    with ServerProcess(tmp_path_factory.mktemp("clients") / "data", database=database) as running:
        yield running


def run(program: Path, server: ServerProcess, scenario: str, **environment: str) -> None:
    """Run a scenario; what it says when it fails is what the test says."""
    done = subprocess.run(
        [str(program), str(server.kubeconfig), scenario],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=RUN_S,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-3000:]


@pytest.mark.parametrize("scenario", ["typed", "leader", "metadata", "pager", "retry", "apply", "openapi"])
def test_client_go_finds_what_it_expects(program: Path, server: ServerProcess, scenario: str) -> None:
    run(program, server, scenario)


@pytest.mark.parametrize("streaming", ["true", "false"])
def test_an_informer_misses_nothing_through_cut_connections(
    program: Path, server: ServerProcess, streaming: str
) -> None:
    run(program, server, "informer", **{WATCH_LIST: streaming})


def test_a_manager_converges_through_cut_connections_and_deaths_of_the_server(
    program: Path, server: ServerProcess
) -> None:
    command = [str(program), str(server.kubeconfig), "manager"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as managers:
        assert managers.stdout is not None
        try:
            said = managers.stdout.readline()
            if said == "restart\n":
                server.kill()
                server.restart()
                compact(server)
            said, errors = managers.communicate("\n", timeout=RUN_S)
        finally:
            managers.kill()
    assert (managers.returncode, said) == (0, "ok\n"), errors[-3000:]


def test_the_module_is_formatted() -> None:
    gofmt = shutil.which("gofmt") or str(Path(shutil.which("go") or "").parent / "gofmt")
    listed = subprocess.run([gofmt, "-l", str(MODULE)], capture_output=True, text=True, check=True)
    assert listed.stdout == ""
