"""Turns among the processes that write one SQLite file.

SQLite's lock goes to whoever asks first when it is free, and that is most often the process that just gave it up.
So the processes queue for the right to ask: only the one that holds the queue's lock asks SQLite, and it lets the
next one in when it was given the lock. Whoever has just committed comes after those who waited meanwhile.

This is about fairness alone. Nothing depends on the queue's lock: a process that is stopped while it holds it is
not waited for.
"""

import errno
import fcntl
import os
import threading
import time
from contextlib import suppress
from typing import Final

PAUSE_S: Final = 0.0003
TURN_MAX_S: Final = 1.0
"""Whoever is at the head of the queue gets SQLite's lock sooner, or nobody does."""
WITHOUT_S: Final = 10.0
"""How long a queue whose head stands still is left aside."""


class Queue:
    """The queue of a database, as one process sees it. Used by one thread at a time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1
        self._without_until = 0.0

    def enter(self, *, deadline: float, abandoned: threading.Event) -> None:
        """Come to the head of the queue, or find out that nobody moves. Call `leave` afterwards in any case."""
        now = time.monotonic()
        if now < self._without_until or not self._is_open():
            return
        give_up = min(deadline, now + TURN_MAX_S)
        while not self._try():
            if abandoned.is_set() or time.monotonic() >= give_up:
                self._without_until = time.monotonic() + WITHOUT_S
                return
            # Never longer for who waits longer: all who wait have the same chance.
            time.sleep(PAUSE_S)

    def leave(self) -> None:
        """Let the next one in."""
        if self._descriptor >= 0:
            # Where there are no such locks, nobody waits for it.
            with suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file. Twice is fine."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _try(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # A file system without such locks has no queue.
            return error.errno not in (errno.EAGAIN, errno.EACCES, errno.EINTR)
        return True

    def _is_open(self) -> bool:
        if self._descriptor < 0:
            try:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError:
                self._without_until = time.monotonic() + WITHOUT_S
        return self._descriptor >= 0


class NoQueue(Queue):
    """For a database of one process."""

    def __init__(self) -> None:
        super().__init__("")

    def enter(self, *, deadline: float, abandoned: threading.Event) -> None:
        return
