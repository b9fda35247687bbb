"""What SQLite's errors mean for a caller: one table, complete over SQLite's primary result codes."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kinepy.errors import (
    DatabaseAccessDenied,
    DatabaseNotKinepy,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseUnusable,
    KinepyError,
    StorageCorrupt,
    StorageUnavailable,
    StoreClosed,
)

Meaning = tuple[type[StorageUnavailable] | type[StorageCorrupt], str]

MEANINGS: Final[dict[str, Meaning]] = {
    "SQLITE_ABORT": (StorageUnavailable, "the statement was broken off"),
    "SQLITE_AUTH": (StorageUnavailable, "the statement is not allowed"),
    "SQLITE_BUSY": (StorageUnavailable, "another process holds the write lock for too long"),
    "SQLITE_CANTOPEN": (StorageUnavailable, "a file of the database cannot be opened"),
    "SQLITE_FULL": (StorageUnavailable, "the disk is full"),
    "SQLITE_INTERRUPT": (StorageUnavailable, "the statement took too long"),
    "SQLITE_IOERR": (StorageUnavailable, "reading or writing the database file failed"),
    "SQLITE_LOCKED": (StorageUnavailable, "a table is locked"),
    "SQLITE_MISUSE": (StorageUnavailable, "the statement cannot be run"),
    "SQLITE_NOLFS": (StorageUnavailable, "the file system cannot hold a file of this size"),
    "SQLITE_NOMEM": (StorageUnavailable, "SQLite ran out of memory"),
    "SQLITE_PERM": (StorageUnavailable, "access to the database file is denied"),
    "SQLITE_PROTOCOL": (StorageUnavailable, "the database file could not be locked"),
    "SQLITE_RANGE": (StorageUnavailable, "the statement cannot be run"),
    "SQLITE_READONLY": (StorageUnavailable, "the database file is read-only"),
    "SQLITE_TOOBIG": (StorageUnavailable, "a value is larger than SQLite can hold"),
    "SQLITE_CONSTRAINT": (StorageCorrupt, "a row contradicts the rows that are there"),
    "SQLITE_CORRUPT": (StorageCorrupt, "the database file is malformed"),
    "SQLITE_EMPTY": (StorageCorrupt, "the database file is empty"),
    "SQLITE_ERROR": (StorageCorrupt, "a table or column is missing"),
    "SQLITE_FORMAT": (StorageCorrupt, "the database file is malformed"),
    "SQLITE_INTERNAL": (StorageCorrupt, "SQLite failed"),
    "SQLITE_MISMATCH": (StorageCorrupt, "a column holds a value of the wrong type"),
    "SQLITE_NOTADB": (StorageCorrupt, "the file is not a database any more"),
    "SQLITE_NOTFOUND": (StorageCorrupt, "SQLite failed"),
    "SQLITE_SCHEMA": (StorageCorrupt, "the schema was changed"),
}

SURELY_UNDONE_AT_COMMIT: Final = frozenset({"SQLITE_BUSY", "SQLITE_FULL", "SQLITE_READONLY", "SQLITE_NOMEM"})
"""A COMMIT that fails so has written no commit record. After others, a power failure may bring the record back."""

_NAMES: Final[dict[int, str]] = {getattr(sqlite3, name): name for name in MEANINGS}


def primary_name(error: sqlite3.Error) -> str | None:
    """The primary result code by name; None for errors that do not come from SQLite itself."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else _NAMES.get(code & 0xFF)


def translate(error: sqlite3.Error) -> KinepyError:
    """The library's error for one of SQLite while the database is open."""
    name = primary_name(error)
    if name is None:
        return StoreClosed() if "closed" in str(error) else StorageUnavailable(str(error))
    kind, reason = MEANINGS[name]
    return kind(f"{reason} ({error})")


@contextmanager
def translated() -> Iterator[None]:
    """Raise the library's errors in place of SQLite's."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error) from error


def open_error(error: sqlite3.Error, path: str) -> DatabaseUnusable:
    """The library's error, with advice, for one of SQLite while the database is being opened."""
    name = primary_name(error)
    if name in ("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_FORMAT", "SQLITE_ERROR", "SQLITE_SCHEMA"):
        return DatabaseNotKinepy(
            f"{path} is not a usable kinepy database ({error}): restore it from a backup or name another file"
        )
    if name == "SQLITE_READONLY":
        return DatabaseReadOnly(f"{path} is read-only: make the file and its folder writable")
    if name in ("SQLITE_PERM", "SQLITE_AUTH"):
        return DatabaseAccessDenied(
            f"{path} may not be opened ({error}): check the owner and the permissions"
        )
    if name == "SQLITE_CANTOPEN":
        return DatabaseUnreachable(
            f"{path} cannot be opened ({error}): check that the folder exists and is writable"
        )
    if name == "SQLITE_BUSY":
        return DatabaseUnreachable(f"{path} is locked by another program: end it or try again")
    if name == "SQLITE_FULL":
        return DatabaseUnreachable(f"{path} cannot be opened: the disk is full; free some space")
    return DatabaseUnreachable(f"{path} cannot be opened ({error}): check the disk and the permissions")
