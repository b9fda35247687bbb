"""Every error of the libraries below has a meaning here."""

import inspect
import sqlite3

import asyncpg
import pytest

from kinepy.drivers.postgres import errors as postgres
from kinepy.drivers.sqlite import errors as sqlite
from kinepy.errors import DatabaseUnusable, KinepyError


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorcode = code
    return error


def test_every_primary_result_code_of_sqlite_has_a_meaning() -> None:
    known = {getattr(sqlite3, name) for name in sqlite.MEANINGS}
    # sqlite3.h numbers the errors from 1 to 26.
    assert known == set(range(1, 27))


@pytest.mark.parametrize("name", sorted(sqlite.MEANINGS))
def test_a_sqlite_error_becomes_one_of_the_library(name: str) -> None:
    error = sqlite_error(getattr(sqlite3, name) | 3 << 8)
    kind, reason = sqlite.MEANINGS[name]
    assert isinstance(sqlite.translate(error), kind)
    assert reason in str(sqlite.translate(error))
    opened = sqlite.open_error(error, "/a.db")
    assert isinstance(opened, DatabaseUnusable)
    assert "/a.db" in str(opened)


POSTGRES: list[type[asyncpg.PostgresError]] = [
    error
    for _, error in inspect.getmembers(asyncpg.exceptions, inspect.isclass)
    if issubclass(error, asyncpg.PostgresError) and getattr(error, "sqlstate", None)
]


@pytest.mark.parametrize("error", POSTGRES, ids=lambda error: error.sqlstate)
def test_every_sqlstate_has_a_meaning(error: type[asyncpg.PostgresError]) -> None:
    assert error.sqlstate in postgres.MEANINGS or error.sqlstate[:2] in postgres.MEANINGS
    assert isinstance(postgres.translate(error("what PostgreSQL says")), KinepyError)
    opened = postgres.open_error(error("two\nlines"), "postgresql://host/name")
    assert "\n" not in str(opened)


def test_every_other_error_of_asyncpg_is_one_of_the_way() -> None:
    others = [
        error
        for _, error in inspect.getmembers(asyncpg.exceptions, inspect.isclass)
        if issubclass(error, Exception) and not issubclass(error, (asyncpg.PostgresError, Warning))
    ]
    odd = [error for error in others if not issubclass(error, postgres.TRANSPORT_ERRORS)]
    assert {error.__name__ for error in odd} <= {"PostgresMessage", "InterfaceMessage"}
