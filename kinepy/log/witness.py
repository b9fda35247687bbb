"""A witness outside the database: the newest revision that this data folder has seen of a store.

A database that was rolled back looks like any other. Its witness, in a file that is not restored along with it,
tells that it once stood further.
"""

import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

from kinepy.errors import DatabaseUnusable, StoreClosed
from kinepy.revision import Revision

log = logging.getLogger("kinepy")

SYNC_INTERVAL_S: Final = 1.0
SAW_WAIT_S: Final = 0.005
OPEN_WAIT_S: Final = 1.0
_PAUSE_S: Final = 0.0001
_HEAD: Final = b"kinepy witness 1\nstore "
_STORE_BYTES: Final = 36
_SEEN_BYTES: Final = 20
_SEEN_AT: Final = len(_HEAD) + _STORE_BYTES + len(b"\nseen ")
_SIZE: Final = _SEEN_AT + _SEEN_BYTES + 1


class Witness:
    """One file, which all processes of a data folder share; it names the newest revision that any of them has seen.

    `saw` returns when the number would survive the end of this process; it survives the end of the machine
    after `sync`, which the store calls every `SYNC_INTERVAL_S` and when it closes.
    """

    def __init__(self, path: str, descriptor: int, seen: Revision) -> None:
        self._path, self._descriptor = path, descriptor
        self.seen = seen
        self._unsynced = False
        self._failed = False

    @classmethod
    def open(cls, path: str, *, store_id: str) -> Self:
        """Open or make the file. One of another store is begun anew. Raises `DatabaseUnusable`."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                with _locked(descriptor, wait_s=OPEN_WAIT_S):
                    return cls(path, descriptor, _read_or_begin(path, descriptor, store_id))
            except BaseException:
                os.close(descriptor)
                raise
        except OSError as error:
            raise DatabaseUnusable(
                f"{path} cannot be used ({error}): check the permissions of the data folder"
            ) from error

    def saw(self, revision: Revision) -> None:
        """Raise the number. A failure is told once and harms nobody: the commit it is about is done.

        Raises `StoreClosed` where nobody would write it down any more.
        """
        if revision <= self.seen:
            return
        if self._descriptor < 0:
            raise StoreClosed
        self.seen = revision
        try:
            # Without the lock where another process is stopped with it: a number that comes too late from there is
            # raised by the next commit.
            with _locked(self._descriptor, wait_s=SAW_WAIT_S):
                # Another process of the same folder may have seen more.
                if int(os.pread(self._descriptor, _SEEN_BYTES, _SEEN_AT)) < revision:
                    os.pwrite(self._descriptor, b"%020d" % revision, _SEEN_AT)
            self._unsynced = True
        except OSError as error:
            if not self._failed:
                self._failed = True
                log.error("the witness %s cannot be written: %s", self._path, error)

    def sync(self) -> None:
        """Make the number survive a power failure; costs a write to the disk when it has moved."""
        if self._unsynced:
            self._unsynced = False
            try:
                os.fdatasync(self._descriptor)
            except OSError as error:
                log.error("the witness %s cannot be written: %s", self._path, error)

    def close(self) -> None:
        """Sync and close. Twice is fine."""
        if self._descriptor >= 0:
            self.sync()
            os.close(self._descriptor)
            self._descriptor = -1


@contextmanager
def _locked(descriptor: int, *, wait_s: float) -> Iterator[None]:
    """Hold the lock, or go on without it after `wait_s`: whoever holds it does so for microseconds, or is stopped."""
    deadline = time.monotonic() + wait_s
    while not _try_lock(descriptor) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_or_begin(path: str, descriptor: int, store_id: str) -> Revision:
    """What the file says of this store, which is nothing for a file that is new or another store's."""
    content = os.pread(descriptor, _SIZE + 1, 0)
    if content:
        store, seen = content[len(_HEAD) : len(_HEAD) + _STORE_BYTES], content[_SEEN_AT:-1]
        if len(content) != _SIZE or not content.startswith(_HEAD) or not seen.isdigit():
            raise DatabaseUnusable(
                f"{path} is damaged: remove it if the database was not restored from a backup; "
                "if it was, remove it and run kinepy new-epoch"
            )
        if store == store_id.encode():
            return Revision(int(seen))
        log.warning("%s was about another store: it is begun anew", path)
    os.pwrite(descriptor, _HEAD + store_id.encode() + b"\nseen " + b"%020d" % 0 + b"\n", 0)
    os.fsync(descriptor)
    return Revision(0)
