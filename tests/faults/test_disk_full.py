"""The disk is full: writes are refused, nothing acknowledged is lost, and everything goes on when there is room."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.faults.writers import Outcomes, check_outcomes
from tests.load import Connection
from tests.postgres_server import PostgresServer
from tests.processes import ServerProcess, configmap, configmaps, message

pytestmark = [pytest.mark.mount, pytest.mark.timeout(180)]

OPTIONS = ("--controllers", "none")
IMPATIENT = (*OPTIONS, "--set", "write_timeout_s=4", "--set", "lock_timeout_s=2")
SIZE = 60_000


@pytest.fixture
def disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A small disk with a file on it that can be removed to make room; PostgreSQL's user may go there."""
    folder = Path(tempfile.mkdtemp(prefix="kinepy-disk-"))
    size, filler = request.param
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", str(folder)], check=True)
    try:
        (folder / "filler").write_bytes(b"x" * filler * 1024 * 1024)
        folder.chmod(0o755)
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


async def fill(server: ServerProcess, outcomes: Outcomes, *, refusals: int) -> None:
    """Create until so many were refused."""
    number, chance = 0, Random(1)  # what can be compressed does not fill a disk
    async with Connection(server.url) as connection:
        while len(outcomes.refused) + len(outcomes.unknown) < refusals:
            name = f"full-{len(outcomes.refused)}-{number}"
            number += 1
            body = json.dumps(configmap(name, v=chance.randbytes(SIZE // 2).hex())).encode()
            outcomes.note(name, await connection.send("POST", configmaps(), body))
            assert not outcomes.wrong, outcomes.wrong


@pytest.mark.parametrize("disk", [(16, 4)], ids=["16 MB"], indirect=True)
async def test_sqlite(disk: Path, tmp_path: Path) -> None:
    data, url = tmp_path / "data", f"sqlite:///{disk / 'kinepy.db'}"
    with ServerProcess(data, database=url, insecure=True, options=OPTIONS) as server:
        outcomes = Outcomes()
        await fill(server, outcomes, refusals=5)
        assert outcomes.acknowledged
        with server.client() as client:
            # As the original beside an etcd that takes no more: what can be read is served, so it is ready.
            assert client.get("/readyz").status_code == 200
            message(
                client.send("POST", configmaps(), configmap("no", v="x" * SIZE)), 503, "ServiceUnavailable"
            )
        await check_outcomes(outcomes, server.url, "full-")
        (disk / "filler").unlink()
        with server.client() as client:
            client.create("again")
        await check_outcomes(outcomes, server.url, "full-")
        server.kill()
        server.restart()
        await check_outcomes(outcomes, server.url, "full-")
        with server.client() as client:
            assert client.get(f"{configmaps()}/again").status_code == 200


class OnDisk(PostgresServer):
    """A PostgreSQL whose data stands on a given disk."""

    def __init__(self, disk: Path) -> None:
        super().__init__()
        self._disk = disk

    def _initialise(self) -> None:
        folder = self._disk / "data"
        folder.mkdir(mode=0o700)
        if self._user is not None:
            shutil.chown(folder, self._user)
        os.symlink(folder, self._path("data"))
        super()._initialise()


@pytest.mark.parametrize("disk", [(160, 48)], ids=["160 MB"], indirect=True)
async def test_postgres(disk: Path, tmp_path: Path) -> None:
    with OnDisk(disk) as postgres:
        url = postgres.create_database()
        with ServerProcess(tmp_path / "data", database=url, insecure=True, options=IMPATIENT) as server:
            outcomes = Outcomes()
            await fill(server, outcomes, refusals=1)
            assert outcomes.acknowledged
            (disk / "filler").unlink()
            postgres.ensure_running()
            with server.client() as client:
                client.create("again")
            await check_outcomes(outcomes, server.url, "full-")
