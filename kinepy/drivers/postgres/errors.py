"""What PostgreSQL's errors mean for a caller: a table by SQLSTATE, exact or by class."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import asyncpg

from kinepy.errors import (
    DatabaseAccessDenied,
    DatabaseNotKinepy,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseUnusable,
    KinepyError,
    StorageCorrupt,
    StorageUnavailable,
)

Meaning = tuple[type[StorageUnavailable] | type[StorageCorrupt], str]

MEANINGS: Final[dict[str, Meaning]] = {
    "01": (StorageUnavailable, "the server gave a warning"),
    "02": (StorageUnavailable, "the server gave no data"),
    "03": (StorageUnavailable, "the statement is not complete"),
    "08": (StorageUnavailable, "the connection was lost"),
    "09": (StorageUnavailable, "a trigger failed"),
    "0A": (StorageUnavailable, "the server does not support the statement"),
    "0B": (StorageUnavailable, "the transaction could not begin"),
    "0F": (StorageUnavailable, "the server cannot take the value"),
    "0L": (StorageUnavailable, "the right is missing"),
    "0P": (StorageUnavailable, "the role is missing"),
    "0Z": (StorageUnavailable, "the server failed"),
    "10": (StorageUnavailable, "the server cannot take the value"),
    "20": (StorageUnavailable, "the server failed"),
    "21": (StorageCorrupt, "a row is there twice"),
    "22": (StorageUnavailable, "the server cannot take the value"),
    "23": (StorageCorrupt, "a row contradicts the rows that are there"),
    "24": (StorageUnavailable, "the server failed"),
    "25": (StorageUnavailable, "the transaction is over"),
    "25P02": (StorageUnavailable, "an earlier statement of the transaction failed"),
    "25006": (StorageUnavailable, "the server is read-only"),
    "26": (
        StorageUnavailable,
        "a prepared statement is gone: set postgres_statement_cache to 0 behind a pooler",
    ),
    "27": (StorageUnavailable, "a trigger failed"),
    "28": (StorageUnavailable, "the server refuses the user"),
    "2B": (StorageUnavailable, "the right is missing"),
    "2D": (StorageUnavailable, "the transaction is over"),
    "2F": (StorageUnavailable, "the server failed"),
    "34": (StorageUnavailable, "the server failed"),
    "38": (StorageUnavailable, "the server failed"),
    "39": (StorageUnavailable, "the server failed"),
    "3B": (StorageUnavailable, "the transaction is over"),
    "3D": (StorageUnavailable, "the database is gone"),
    "3F": (StorageUnavailable, "the schema is gone"),
    "40": (StorageUnavailable, "the server undid the transaction"),
    "42": (StorageCorrupt, "a table or column is missing"),
    "42501": (StorageUnavailable, "the right to the table is missing"),
    "42P05": (StorageUnavailable, "a prepared statement is in the way: set postgres_statement_cache to 0"),
    "44": (StorageUnavailable, "the server cannot take the row"),
    "53": (StorageUnavailable, "the server has no room"),
    "54": (StorageUnavailable, "the statement is too large for the server"),
    "55": (StorageUnavailable, "the server is busy with a conflicting operation"),
    "55000": (StorageUnavailable, "the server is a standby, or not ready"),
    "55P03": (StorageUnavailable, "another process holds the write lock for too long"),
    "57": (StorageUnavailable, "the server broke the statement off"),
    "58": (StorageUnavailable, "the server failed"),
    "72": (StorageUnavailable, "the snapshot is too old"),
    "F0": (StorageUnavailable, "the server's configuration is wrong"),
    "HV": (StorageUnavailable, "a foreign table failed"),
    "P0": (StorageUnavailable, "a function failed"),
    "XX": (StorageUnavailable, "the server failed"),
    "XX001": (StorageCorrupt, "the server found damaged data"),
    "XX002": (StorageCorrupt, "the server found a damaged index"),
}

TRANSPORT_ERRORS: Final = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    asyncio.IncompleteReadError,
)
DATABASE_ERRORS: Final = (asyncpg.PostgresError, *TRANSPORT_ERRORS)

_SESSION_ENDED: Final = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03", "25P04"})
_TRY_AGAIN: Final = frozenset({"57P03", "53300"})


def meaning(sqlstate: str) -> Meaning:
    """What a SQLSTATE means; a class that is not in the table is a server's failure."""
    return MEANINGS.get(sqlstate) or MEANINGS.get(sqlstate[:2]) or MEANINGS["XX"]


def translate(error: BaseException) -> KinepyError:
    """The library's error for one of PostgreSQL or of the way to it."""
    if isinstance(error, asyncpg.PostgresError):
        kind, reason = meaning(error.sqlstate or "XX000")
        return kind(f"{reason} ({error})")
    return StorageUnavailable(f"the connection was lost ({str(error) or type(error).__name__})")


@contextmanager
def translated() -> Iterator[None]:
    """Raise the library's errors in place of asyncpg's."""
    try:
        yield
    except DATABASE_ERRORS as error:
        raise translate(error) from error


def ends_session(error: BaseException) -> bool:
    """Whether the connection broke, so that what the server did last is not known here."""
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        return state in _SESSION_ENDED or state.startswith("08")
    return True


def may_pass(error: BaseException) -> bool:
    """Whether connecting may work in a moment: the server is away, starting, or full."""
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        return state in _TRY_AGAIN or state.startswith("08")
    return isinstance(error, OSError) and not isinstance(error, ssl.SSLError)


def open_error(error: BaseException, shown: str) -> DatabaseUnusable:
    """The library's error, with advice, for one while the database is being opened."""
    if not isinstance(error, asyncpg.PostgresError):
        reason = " ".join(str(error).split()) or type(error).__name__
        return DatabaseUnreachable(
            f"{shown} cannot be reached ({reason}): check the address and that PostgreSQL runs"
        )
    state, reason = error.sqlstate or "", " ".join(str(error).split())
    if state.startswith("28"):
        return DatabaseAccessDenied(f"{shown} refuses the user ({reason}): check user and password")
    if state.startswith("3D"):
        return DatabaseUnreachable(f"{shown} does not exist ({reason}): create it with createdb")
    if state == "42501":
        return DatabaseAccessDenied(
            f"{shown} denies a right ({reason}): GRANT CREATE, USAGE ON SCHEMA to the user"
        )
    if state == "25006":
        return DatabaseReadOnly(f"{shown} is read-only: connect to the primary server")
    if state.startswith("42"):
        return DatabaseNotKinepy(f"{shown} has no kinepy schema ({reason}): run kinepy migrate")
    return DatabaseUnreachable(f"{shown} cannot be used now ({reason}): check the server and try again")
