"""The databases of the fault tests."""

from dataclasses import dataclass

from tests.processes import ServerProcess, run_kinepy


@dataclass(frozen=True)
class Database:
    """A database of its own for one test. Without a URL: the SQLite file in the server's data folder."""

    name: str
    url: str | None

    def check(self, server: ServerProcess) -> None:
        """`kinepy check` finds nothing wrong, while the server runs."""
        where = ["--database", server.database] if server.database else []
        done = run_kinepy("check", "--data", str(server.data), *where)
        assert done.returncode == 0, (done.stdout, done.stderr)
