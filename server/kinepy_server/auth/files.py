"""Files that others may read at any moment, or must not read at all."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step by one that only its owner may read."""
    _replace(path, text, mode=0o600)


def write_public(path: Path, text: str) -> None:
    """Replace a file in one step by one that everybody may read."""
    _replace(path, text, mode=0o644)


def _replace(path: Path, text: str, *, mode: int) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made when absent; other processes wait."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
