"""The databases that the contract holds on, as data."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from tests.postgres_server import ENVIRONMENT, Databases, PostgresServer


@dataclass(frozen=True)
class Backend:
    """A kind of database and what is to be expected of it."""

    name: str
    shared: bool
    """Several stores may be open on one URL, also in several processes."""
    durable: bool
    """A store may be closed and opened again."""


BACKENDS = (
    Backend("sqlite-memory", shared=False, durable=False),
    Backend("sqlite-file", shared=True, durable=True),
    Backend("postgres", shared=True, durable=True),
)
SHARED_BACKENDS = tuple(backend for backend in BACKENDS if backend.shared)
DURABLE_BACKENDS = tuple(backend for backend in BACKENDS if backend.durable)

CreatePostgres = Callable[[bool], str]
"""Makes a PostgreSQL database, migrated or empty, and returns its URL."""


class DatabaseMaker:
    """Makes fresh databases. PostgreSQL is asked for only when one is wanted."""

    def __init__(self, folder: Path, postgres: Callable[[], Databases]) -> None:
        self._folder, self._postgres = folder, postgres
        self._borrowed: list[str] = []

    def fresh_url(self, backend: Backend, *, migrated: bool = True) -> str:
        """The URL of a new, empty database. A file is made by the migration at open."""
        if backend.name == "sqlite-memory":
            return "sqlite:///:memory:"
        if backend.name == "sqlite-file":
            return f"sqlite:///{self._folder / uuid4().hex}.db"
        url = self._postgres().create(migrated=migrated)
        if migrated:
            self._borrowed.append(url)
        return url

    def close(self) -> None:
        """Nobody uses the databases any more."""
        while self._borrowed:
            self._postgres().give_back(self._borrowed.pop())


@contextmanager
def postgres_databases() -> Iterator[Databases]:
    """Databases on the server of the environment, which are dropped at the end, or on one started for them."""
    url = os.environ.get(ENVIRONMENT)
    if url:
        databases = Databases(url)
        try:
            yield databases
        finally:
            databases.drop_all()
    else:
        with PostgresServer() as server:
            yield server.databases
