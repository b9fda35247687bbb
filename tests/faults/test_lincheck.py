"""lincheck judges a server that is killed again and again: it needs no leave to forget what watchers have seen.

The tool stands in tests/lincheck as it is published. KINEPY_LINCHECK_SECONDS makes it run longer.
"""

import asyncio
import os
import signal
import subprocess
from pathlib import Path
from random import Random

import pytest

from tests.faults.databases import Database
from tests.faults.trouble import SEED
from tests.processes import ServerProcess

SECONDS = int(os.environ.get("KINEPY_LINCHECK_SECONDS", "10"))
SOURCE = Path(__file__).parent.parent / "lincheck"
SETTLE_S = 60

pytestmark = [pytest.mark.go, pytest.mark.slow, pytest.mark.timeout(300 + SECONDS)]


@pytest.fixture(scope="session")
def lincheck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built tool."""
    built = tmp_path_factory.mktemp("lincheck") / "lincheck"
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", "-o", str(built), "."]
    done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return built


async def kill_again_and_again(server: ServerProcess, judged: "asyncio.Future[tuple[bytes, bytes]]") -> int:
    """kill -9 and restart at random moments, until the load is about to end; returns how often."""
    chance, count = Random(SEED), 0
    end = asyncio.get_running_loop().time() + SECONDS - 1
    while asyncio.get_running_loop().time() < end:
        await asyncio.wait([judged], timeout=chance.uniform(0.3, 2.5))
        await asyncio.to_thread(server.kill, signal.SIGKILL)
        await asyncio.to_thread(server.restart)
        count += 1
    return count


async def test_lincheck_passes_while_the_server_is_killed(
    database: Database, tmp_path: Path, lincheck: Path
) -> None:
    data, options = tmp_path / "data", ("--controllers", "none")
    with ServerProcess(data, database=database.url, insecure=True, options=options) as server:
        process = await asyncio.create_subprocess_exec(
            str(lincheck), "-target", "k8s", "-url", server.url, "-seconds", str(SECONDS),
            "-seed", str(SEED), "-settle", f"{SETTLE_S}s",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        judged = asyncio.ensure_future(process.communicate())
        kills = await kill_again_and_again(server, judged)
        output = (await judged)[0].decode()
        print(f"{kills} kills\n{output}")
        assert process.returncode == 0, output
        assert "PASS" in output
        assert kills
        database.check(server)
