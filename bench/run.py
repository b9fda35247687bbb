"""Measure kinepy beside the engines it stands on, in one run.

make bench                        everything, at full length
make bench ARGS="--scale 0.2"     shorter
make bench ARGS="--only library"  or: http, writers, overload, custom, definitions
make bench ARGS="--write"         put the table into bench/RESULTS.md
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import custom_objects, http_load, many_definitions, many_writers, overload, raw, store_load  # noqa: E402
from bench.table import Row, markdown  # noqa: E402
from tests.postgres_server import PostgresServer  # noqa: E402

RESULTS = ROOT / "bench" / "RESULTS.md"
WRITES = ("library create", "library update", "library delete")


@contextmanager
def databases(folder: Path, only: str) -> Iterator[dict[str, tuple[str, str, str]]]:
    """name -> URLs for the bare engine, the library and the server, all of them empty."""
    found = {"sqlite": ("", f"sqlite:///{folder / 'library.db'}", f"sqlite:///{folder / 'server.db'}")}
    if only == "sqlite":
        yield found
        return
    with PostgresServer() as server:
        raw_url, url, server_url = (server.create_database(migrated=False) for _ in range(3))
        found["postgres"] = (raw_url, url, server_url)
        yield found if only != "postgres" else {"postgres": found["postgres"]}


def raw_rows(name: str, url: str, *, folder: Path, scale: float) -> float:
    """What the bare database does per second."""
    rows = 64 * int(400 * scale)
    if name == "sqlite":
        return raw.sqlite_rows_per_s(folder, rows=rows)
    return raw.postgres_rows_per_s(url, rows=rows)


def library(name: str, url: str, *, engine: float, scale: float) -> list[Row]:
    """The library's rows with the engine's figure beside the writes."""
    import uvloop

    rows = uvloop.run(store_load.measure(url, database=name, scale=scale))
    return [replace(row, raw=engine) if row.name.endswith(WRITES) else row for row in rows]


def measure(options: argparse.Namespace) -> list[Row]:
    """Everything asked for."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="kinepy-bench-") as name, raw.hello_server() as hello:
        folder = Path(name)
        floor = {}
        if options.only in ("", "http"):
            floor = http_load.measure_hello(hello, scale=options.scale)
            rows += [Row(name=f"raw ASGI hello, {kind}", per_second=value) for kind, value in floor.items()]
        if options.only in ("", "custom"):
            rows += custom_objects.measure(scale=options.scale)
        if options.only in ("", "definitions"):
            rows += many_definitions.measure(scale=options.scale)
        if options.only in ("custom", "definitions"):
            return rows
        with databases(folder, options.database) as found:
            for database, (raw_url, url, server_url) in found.items():
                engine = raw_rows(database, raw_url, folder=folder, scale=options.scale)
                rows.append(Row(name=f"{database}: raw rows, 64 in a transaction", per_second=engine))
                if options.only in ("", "library"):
                    rows += library(database, url, engine=engine, scale=options.scale)
                if options.only in ("", "writers"):
                    rows += many_writers.measure(url, database=database, scale=options.scale)
                if options.only in ("", "http"):
                    rows += http_load.measure(
                        folder / database, database=database, url=server_url, raw=floor, scale=options.scale
                    )
                if options.only in ("", "overload"):
                    rows += overload.measure(
                        folder / f"{database}-overload",
                        database=database,
                        url=server_url if database == "postgres" else None,
                        scale=options.scale,
                    )
    return rows


def main() -> int:
    """Measure, print, and write if asked to. 0 when every target was reached."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="length of the runs")
    parser.add_argument(
        "--only",
        choices=["", "library", "http", "writers", "overload", "custom", "definitions"],
        default="",
    )
    parser.add_argument("--database", choices=["", "sqlite", "postgres"], default="")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    rows = measure(options)
    table = markdown(rows)
    print(f"\n{table}")
    if options.write:
        write(table)
    missed = [row.name for row in rows if row.missed]
    print(f"\ntargets missed: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


def write(table: str) -> None:
    """Put the table into RESULTS.md, below its introduction."""
    head = RESULTS.read_text().split("<!-- table -->")[0]
    machine = f"{os.cpu_count()} shared cores, Python {platform.python_version()}, {platform.system()}"
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    RESULTS.write_text(f"{head}<!-- table -->\n\n{when}, {machine}.\n\n{table}\n")


if __name__ == "__main__":
    sys.exit(main())
