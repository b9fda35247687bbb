"""The commands that back up, restore and move a store."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kinepy_server.cli.places import database_url, ensure_folder, existing_database_url, is_memory
from kinepy_server.cli.problems import Problem, reported
from kinepy_server.cli.terminal import progress_bar

if TYPE_CHECKING:
    from kinepy.backup import Transferred

POSTGRES = ("postgresql:", "postgres:", "postgresql+asyncpg:")
SQLITE = "sqlite:"


def run_backup(data: Path, database: str | None, file: Path, *, force: bool) -> None:
    """`kinepy backup`."""
    with reported(), _file_errors(file):
        from kinepy.backup import export_database

        url = existing_database_url(data, database)
        with progress_bar("backing up") as progress:
            done = asyncio.run(export_database(url, file, force=force, progress=progress))
        print(f"backed up revision {done.revision}: {_amount(done)} to {file}")


def run_restore(data: Path, database: str | None, file: Path, *, force: bool) -> None:
    """`kinepy restore`."""
    with reported(), _file_errors(file):
        from kinepy.backup import restore_database

        _readable(file)
        with _target(data, database) as url, progress_bar("restoring") as progress:
            done = asyncio.run(restore_database(url, file, force=force, progress=progress))
        print(f"restored {_amount(done)} of revision {done.revision}; {_epoch(done)}")


def run_export(data: Path, database: str | None, file: Path, *, history: bool, force: bool) -> None:
    """`kinepy export`."""
    with reported(), _file_errors(file):
        from kinepy.backup import export_database

        url = existing_database_url(data, database)
        contents = "history" if history else "state"
        with progress_bar("exporting") as progress:
            done = asyncio.run(
                export_database(
                    url,
                    file,
                    contents="history" if history else "state",
                    force=force,
                    progress=progress,
                )
            )
        print(f"exported the {contents} at revision {done.revision}: {_amount(done)} to {file}")


def run_import(data: Path, database: str | None, source: str) -> None:
    """`kinepy import`."""
    with reported(), _file_errors(Path(source) if not source.startswith(POSTGRES) else None):
        from kinepy.backup import import_database, import_kine

        kine = _kine_url(source)
        with _target(data, database) as url, progress_bar("importing") as progress:
            if kine is None:
                done = asyncio.run(import_database(url, Path(source), progress=progress))
            else:
                from kinepy_server.wire.kine_values import stored_here

                done = asyncio.run(import_kine(url, kine, convert=stored_here, progress=progress))
        print(
            f"imported {_amount(done)} of revision {done.revision}{'; ' + _epoch(done) if done.epoch else ''}"
        )


def _kine_url(source: str) -> str | None:
    """The URL of a kine's database; None for a file of kinepy's own."""
    if source.startswith((*POSTGRES, SQLITE)):
        return source
    from kinepy.transfer.files import is_sqlite

    path = Path(source)
    _readable(path)
    return f"sqlite:///{path.absolute()}" if is_sqlite(path) else None


@contextmanager
def _target(data: Path, database: str | None) -> Iterator[str]:
    """The database to fill, which may not be there yet. A folder made for it goes again when nothing came into it."""
    url = database_url(data, database)
    if is_memory(url):
        raise Problem("a database in memory lives inside its server: use --database with a file or a server")
    made = database is None and not data.exists()
    if database is None:
        ensure_folder(data)
    try:
        yield url
    except BaseException:
        if made:
            with suppress(OSError):
                data.rmdir()
        raise


def _readable(file: Path) -> None:
    with file.open("rb"):
        pass


def _amount(done: "Transferred") -> str:
    leases = f" and {done.leases} leases" if done.leases else ""
    return f"{done.rows} rows{leases}"


def _epoch(done: "Transferred") -> str:
    assert done.epoch is not None
    return f"epoch {done.epoch.number} starts at revision {done.epoch.base_revision}"


@contextmanager
def _file_errors(file: Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Problem(
            f"cannot read or write {error.filename or file} ({error.strerror or error}): "
            "correct its path, its rights or the room on its disk"
        ) from error
