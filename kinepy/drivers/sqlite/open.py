"""Opening a SQLite database, and telling what stands in the way."""

import os
import sqlite3
from functools import partial

from kinepy.clock import Clock
from kinepy.drivers.base import Driver
from kinepy.drivers.sqlite.connection import ThreadConnection, connect_raw
from kinepy.drivers.sqlite.driver import FileDriver, MemoryDriver
from kinepy.drivers.sqlite.errors import open_error
from kinepy.drivers.sqlite.memory import create_in_memory
from kinepy.drivers.sqlite.read import PREPARED, query
from kinepy.errors import DatabaseNotKinepy, DatabaseReadOnly, DatabaseUnreachable
from kinepy.settings import Settings
from kinepy.sql import statements


def open_memory(settings: Settings, clock: Clock) -> Driver:
    """Make a database in memory. It ends with the driver."""
    return MemoryDriver(create_in_memory(clock), settings=settings, clock=clock)


async def open_file(path: str, settings: Settings, clock: Clock) -> Driver:
    """Open a file that was migrated. Never makes one."""
    path = absolute(path)
    check_file(path)
    try:
        writer = await ThreadConnection.open(partial(connect_raw, path, settings, role="writer"))
    except sqlite3.Error as error:
        raise open_error(error, path) from error
    try:
        return _open(writer, path, settings=settings, clock=clock)
    except sqlite3.Error as error:
        await writer.close()
        raise open_error(error, path) from error
    except BaseException:
        await writer.close()
        raise


def _open(writer: ThreadConnection, path: str, *, settings: Settings, clock: Clock) -> Driver:
    if not query(writer.raw, PREPARED[statements.store_id], {}):
        raise DatabaseNotKinepy(f"{path} has no store in it: restore it from a backup or name another file")
    _use_wal(writer.raw, path)
    probe = connect_raw(path, settings, role="probe")
    try:
        query(probe, PREPARED[statements.position], {})
        # From here on the writer waits for the lock in a loop of its own, which hands it over faster than SQLite's.
        for raw in (writer.raw, probe):
            raw.execute("PRAGMA busy_timeout = 0")
        return FileDriver(writer, probe, path=path, settings=settings, clock=clock)
    except BaseException:
        probe.close()
        raise


def _use_wal(raw: sqlite3.Connection, path: str) -> None:
    """Copies made by `VACUUM INTO` or from a dump have another journal, with which readers and writers wait for each
    other."""
    if raw.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        return
    if (mode := raw.execute("PRAGMA journal_mode = WAL").fetchone()[0]) != "wal":
        raise DatabaseUnreachable(f"{path} cannot use a write-ahead log (it has {mode}): use a local disk")


def absolute(path: str) -> str:
    """The path as it stands, whatever the working directory becomes."""
    return os.path.abspath(path)


def check_file(path: str) -> None:
    """Say in a line what is wrong with a file that cannot be a writable database; silent on one that may be."""
    if os.path.isdir(path):
        raise DatabaseUnreachable(f"{path} is a folder: name a file in it")
    if not os.path.exists(path):
        raise DatabaseUnreachable(f"{path} does not exist: run kinepy migrate or check the path")
    # A superuser may write what nobody is meant to write.
    if not os.stat(path).st_mode & 0o222 or not os.access(path, os.W_OK):
        raise DatabaseReadOnly(
            f"{path} is read-only: make it writable (chmod u+w {path}) or name another file"
        )
