"""What the acceptance tests share: a namespace of a running server, and its compaction from outside."""

from dataclasses import dataclass

from tests.processes import ServerProcess, configmaps, run_kinepy

STALE = (
    'Operation cannot be fulfilled on configmaps "{}": the object has been modified; '
    "please apply your changes to the latest version and try again"
)


@dataclass(frozen=True)
class Place:
    """A namespace of its own on a server."""

    server: ServerProcess
    namespace: str

    @property
    def configmaps(self) -> str:
        """The address of its ConfigMaps."""
        return configmaps(self.namespace)

    def compact(self) -> None:
        """Compact the server's store to its current revision with the command line."""
        compact(self.server)


def compact(server: ServerProcess) -> None:
    """`kinepy compact` on the store of a running server."""
    kinepy_command(server, "compact")


def kinepy_command(server: ServerProcess, *command: str) -> str:
    """One `kinepy` command on a server's store, which must succeed; returns what it prints."""
    where = ["--data", str(server.data)]
    if server.database is not None:
        where += ["--database", server.database]
    done = run_kinepy(*command, *where)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout
