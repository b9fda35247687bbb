"""Databases for every test that wants one."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends import BACKENDS, Backend, CreatePostgres, DatabaseMaker, postgres_databases
from tests.postgres_server import Databases


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """PostgreSQL databases on one server for the whole run."""
    with postgres_databases() as databases:
        yield databases


PROGRAMS = {"kubectl": "kubectl", "go": "Go", "helm": "helm"}
"""Programs that some tests need, which are marked with the program's name."""


def pytest_configure(config: pytest.Config) -> None:
    """What is marked as needing more than programs."""
    config.addinivalue_line(
        "markers",
        "mount: needs the right to mount file systems; deselected with a printed line where it is missing",
    )


def may_mount() -> bool:
    """Whether file systems may be mounted here, as small disks for tests that fill them."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            return False
        subprocess.run(["umount", "-l", folder], check=True)
    return True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where a program is absent, the tests that need it are left out, and a line says so."""
    for program, name in PROGRAMS.items():
        left_out = [item for item in items if item.get_closest_marker(program)]
        if left_out and shutil.which(program) is None:
            items[:] = [item for item in items if item not in left_out]
            config.hook.pytest_deselected(items=left_out)
            config.get_terminal_writer().line(
                f"\n{name} is not on PATH: {len(left_out)} tests of it are left out"
            )
    left_out = [item for item in items if item.get_closest_marker("mount")]
    if left_out and not may_mount():
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
        config.get_terminal_writer().line(
            f"\nno file system may be mounted: {len(left_out)} tests of full disks are left out"
        )


@pytest.fixture(scope="session")
def create_postgres(postgres: Databases) -> CreatePostgres:
    """Makes PostgreSQL databases with which a test may do what it likes."""
    return lambda migrated: postgres.create(migrated=migrated)


@pytest.fixture(scope="session")
def postgres_url(create_postgres: CreatePostgres) -> str:
    """One migrated PostgreSQL database for the whole run."""
    return create_postgres(True)


@pytest.fixture
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DatabaseMaker]:
    """Makes fresh databases of any kind; they are used again after the test."""
    maker = DatabaseMaker(tmp_path, lambda: request.getfixturevalue("postgres"))
    yield maker
    maker.close()


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.name)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each kind of database in turn."""
    found: Backend = request.param
    return found


@pytest.fixture
def database_url(databases: DatabaseMaker, backend: Backend) -> str:
    """A fresh database of the kind in turn."""
    return databases.fresh_url(backend)
