"""Measure what years of history, a busy compactor and very many leases cost.

python bench/scale.py                                  everything, on SQLite
python bench/scale.py --database postgres              on PostgreSQL
python bench/scale.py --only history --revisions 10000000
python bench/scale.py --only compaction --seconds 600  or: leases
python bench/scale.py --write                          put the table into bench/SCALE.md
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import scale_compaction, scale_history, scale_leases  # noqa: E402
from bench.table import Row, markdown  # noqa: E402
from tests.postgres_server import PostgresServer  # noqa: E402

RESULTS = ROOT / "bench" / "SCALE.md"
MEASURES = ("history", "compaction", "leases")


@contextmanager
def fresh_urls(database: str) -> Iterator[Iterator[str]]:
    """URLs of empty databases, as many as are wanted."""
    if database == "postgres":
        with PostgresServer() as server:
            yield iter(lambda: server.create_database(migrated=False), "")
        return
    with tempfile.TemporaryDirectory(prefix="kinepy-scale-") as name:
        yield (f"sqlite:///{name}/{number}.db" for number in range(100))


def measure(options: argparse.Namespace, what: str) -> list[Row]:
    """One of the measures."""
    import uvloop

    rows: list[Row] = []
    with fresh_urls(options.database) as urls:
        if what == "history":
            for revisions in (scale_history.FEW, options.revisions):
                rows += uvloop.run(scale_history.measure(next(urls), revisions=revisions))
        elif what == "compaction":
            rows += uvloop.run(
                scale_compaction.measure(next(urls), seconds=options.seconds, rate=options.rate)
            )
        else:
            rows += uvloop.run(scale_leases.measure(next(urls), leases=options.leases))
    return [replace(row, name=f"{options.database}: {row.name}") for row in rows]


def write(database: str, what: str, table: str) -> None:
    """Put a table between its marks in SCALE.md."""
    text = RESULTS.read_text()
    begin, end = f"<!-- {database} {what} -->", f"<!-- /{database} {what} -->"
    head, _, rest = text.partition(begin)
    tail = rest.partition(end)[2]
    RESULTS.write_text(f"{head.rstrip()}\n\n{begin}\n\n{table}\n\n{end}\n{tail.lstrip()}")


def main() -> int:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--only", choices=["", *MEASURES], default="")
    parser.add_argument("--revisions", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long to compact under load")
    parser.add_argument("--rate", type=int, default=5000, help="writes a second meanwhile")
    parser.add_argument("--leases", type=int, default=100_000)
    parser.add_argument("--write", action="store_true", help="put the table into bench/SCALE.md")
    parser.add_argument("--lessor", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lessor:
        asyncio.run(scale_leases.run_lessor(options.lessor))
        return 0
    for what in (options.only,) if options.only else MEASURES:
        table = markdown(measure(options, what))
        print(f"\n{table}")
        if options.write:
            write(options.database, what, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
