"""Whether the open file still is the one at its path.

SQLite commits happily into a file that was deleted or replaced while it is open. Nothing of that survives, so
nothing may be acknowledged.
"""

import os

from kinepy.errors import StorageUnavailable

_Identity = tuple[int, int]


def _identity(path: str) -> _Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class FileIdentity:
    """The identity of a database's files. Once lost, it stays lost: the open connections lead nowhere."""

    def __init__(self, path: str) -> None:
        # The write-ahead log stays as long as a connection is open, and holds the newest commits alone.
        self._files = [(name, _identity(name)) for name in (path, f"{path}-wal")]
        self._lost: str | None = None

    def check(self) -> None:
        """Raise `StorageUnavailable` if a file was deleted, moved or replaced."""
        if self._lost is None:
            for name, identity in self._files:
                if identity is not None and _identity(name) != identity:
                    self._lost = name
                    break
            else:
                return
        raise StorageUnavailable(f"{self._lost} was deleted or replaced while in use: restore it and restart")


class NoFile(FileIdentity):
    """A database without a file."""

    def __init__(self) -> None:
        self._files, self._lost = [], None
