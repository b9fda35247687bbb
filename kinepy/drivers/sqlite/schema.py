"""Making and upgrading a SQLite file."""

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from kinepy.clock import Clock
from kinepy.drivers.schema import needs_migration, not_kinepy
from kinepy.drivers.sqlite.connection import connect_raw
from kinepy.drivers.sqlite.errors import open_error
from kinepy.drivers.sqlite.memory import seed
from kinepy.drivers.sqlite.open import absolute, check_file
from kinepy.errors import DatabaseUnreachable
from kinepy.settings import Settings
from kinepy.sql.tables import SQLITE_APPLICATION_ID, VERSION_TABLE

Upgrade = Callable[[Connection], None]


def migrate_file(path: str, settings: Settings, *, clock: Clock, upgrade: Upgrade) -> bool:
    """Make or upgrade a file; returns whether there was anything to do. A file of another program is left as it is."""
    path = absolute(path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise DatabaseUnreachable(f"folder {folder} does not exist: create it first")
    try:
        if os.path.lexists(path):
            check_file(path)
            if not _look(path, settings):
                return False
        with _alone_in(folder):
            return _make(path, settings, clock=clock, upgrade=upgrade)
    except sqlite3.Error as error:
        raise open_error(error, path) from error
    except DBAPIError as error:
        if not isinstance(error.orig, sqlite3.Error):
            raise
        raise open_error(error.orig, path) from error
    except OSError as error:
        raise DatabaseUnreachable(
            f"{path} cannot be opened ({error}): check the folder's permissions"
        ) from error


def _look(path: str, settings: Settings) -> bool:
    """Whether a file that is there needs migrations."""
    with closing(connect_raw(path, settings, role="reader")) as raw:
        return needs_migration(_version(raw, path), shown=path)


def _version(raw: sqlite3.Connection, path: str) -> str | None:
    """The schema's version; None for an empty database. Raises `DatabaseNotKinepy` for another program's."""
    names = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if VERSION_TABLE in names:
        row = raw.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
        return None if row is None else str(row[0])
    if names:
        raise not_kinepy(path, names)
    return None


def _make(path: str, settings: Settings, *, clock: Clock, upgrade: Upgrade) -> bool:
    with closing(connect_raw(path, settings, role="migration", create=True)) as raw:
        if not needs_migration(_version(raw, path), shown=path):
            return False
        # Both must come before the first page is written, and outside a transaction.
        raw.execute("PRAGMA auto_vacuum = INCREMENTAL")
        raw.execute("PRAGMA journal_mode = WAL").fetchall()
        _upgrade(raw, clock, upgrade)
    return True


def _upgrade(raw: sqlite3.Connection, clock: Clock, upgrade: Upgrade) -> None:
    """Run the migrations and put in the first rows, in one transaction that SQLAlchemy ends."""
    engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
    with engine.connect() as connection, connection.begin():
        # Processes that already write the file finish what they do, and wait.
        raw.execute("BEGIN IMMEDIATE")
        raw.execute(f"PRAGMA application_id = {SQLITE_APPLICATION_ID}")
        upgrade(connection)
        seed(raw, clock)


@contextmanager
def _alone_in(folder: str) -> Iterator[None]:
    """Wait until no other process makes a database in the folder. The folder is locked, and nothing is left in it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
