"""The commands that look after a database, whether servers run on it or not."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kinepy_server.cli.places import database_url, ensure_folder, existing_database_url
from kinepy_server.cli.problems import Problem, reported
from kinepy_server.cli.terminal import progress_bar, working

if TYPE_CHECKING:
    from kinepy import Settings, Store

T = TypeVar("T")
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def run_migrate(data: Path, database: str | None) -> None:
    """`kinepy migrate`."""
    with reported():
        from kinepy.migrate import migrate

        if database is None:
            ensure_folder(data)
        with working("migrating"):
            changed = asyncio.run(migrate(database_url(data, database)))
        print("the schema was brought up to date" if changed else "the schema is up to date")


def run_compact(
    data: Path, database: str | None, *, to: int | None, keep: str | None, retention: Sequence[str]
) -> None:
    """`kinepy compact`."""
    with reported():
        url = existing_database_url(data, database)
        if to is not None and keep is not None:
            raise Problem("--to and --keep exclude each other: give one of them")
        if keep is not None:
            from kinepy.upkeep import revision_to_keep

            found = asyncio.run(revision_to_keep(url, keep_s=duration_s(keep)))
            if found is None:
                print(f"nothing to do: all history is younger than {keep}")
                return
            to = found
        from kinepy import Settings
        from kinepy_server.cli.plan import with_retention

        settings = with_retention(Settings(), retention)
        with working("compacting"):
            revision = _with_store(url, lambda store: _compact(store, to), settings)
        print(f"compacted to revision {revision}")


async def _compact(store: "Store", to: int | None) -> int:
    from kinepy import Revision
    from kinepy.errors import Compacted

    try:
        return await store.compact(None if to is None else Revision(to))
    except Compacted as error:
        return error.compacted


def run_check(data: Path, database: str | None) -> None:
    """`kinepy check`."""
    with reported():
        url = existing_database_url(data, database)
        from kinepy.upkeep import check_database

        with progress_bar("checking") as progress:
            report = asyncio.run(check_database(url, progress=progress))
        for warning in report.warnings:
            print(f"warning: {warning}")
        for problem in report.problems:
            print(f"broken: {problem}")
        if not report.clean:
            raise Problem(
                f"{report.problem_count} problems, so this database breaks its promises: "
                "keep a copy of it, and restore a backup"
            )
        print(
            f"all is well: {report.log_rows} rows of the log and {report.keys} keys "
            f"up to revision {report.current_revision}"
        )


def run_new_epoch(data: Path, database: str | None, *, reason: str) -> None:
    """`kinepy new-epoch`."""
    with reported():
        url = existing_database_url(data, database)
        from kinepy.upkeep import start_epoch

        epoch = asyncio.run(start_epoch(url, reason=reason))
        print(f"epoch {epoch.number} starts at revision {epoch.base_revision}")


def duration_s(text: str) -> float:
    """Seconds of `30s`, `10m`, `1.5h`, `7d`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if match is None:
        raise Problem(f"{text!r} is no duration: write a number and s, m, h or d, such as 30m")
    return float(match[1]) * UNITS_S[match[2]]


def _with_store(
    url: str, work: "Callable[[Store], Coroutine[Any, Any, T]]", settings: "Settings | None" = None
) -> T:
    async def run() -> T:
        from kinepy import open_store

        async with open_store(url, settings) as store:
            return await work(store)

    return asyncio.run(run())
