"""`kinepy status`: what the database tells of a store, and what a server that runs on it tells beside that."""

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kinepy_server.cli.places import existing_database_url
from kinepy_server.cli.problems import Problem, reported
from kinepy_server.cli.running import RunningServer, running_server

if TYPE_CHECKING:
    from kinepy import StoreStatus

OUTPUTS: Final = ("table", "json")
NOBODY: Final = "none answers"
_MIB: Final = 1_048_576

LIVE: Final = (
    ("applied revision", "applied_revision", "kinepy_current_revision"),
    ("watchers", "watchers", "kinepy_watchers"),
    ("watch lag", "watch_lag_revisions", "kinepy_watch_lag_revisions"),
    ("compaction lag", "compaction_lag_revisions", "kinepy_compaction_lag_revisions"),
    ("queued writes", "queued_writes", "kinepy_queued_writes"),
    ("commit batches", "commit_batches", "kinepy_commit_batch_writes_count"),
    ("writes in them", "commit_batch_writes", "kinepy_commit_batch_writes_sum"),
)
"""What a running server is asked for: the name in the table, the one in JSON, the one in /metrics."""


def run_status(data: Path, database: str | None, output: str) -> None:
    """`kinepy status`."""
    with reported():
        if output not in OUTPUTS:
            raise Problem(f"--output {output} is not known: use {' or '.join(OUTPUTS)}")
        status = asyncio.run(_read(existing_database_url(data, database)))
        server = running_server(data, status.store_id)
        if output == "json":
            print(json.dumps(as_json(status, server), indent=2))
        else:
            _print_table([*stored_lines(status), *server_lines(server)])


async def _read(url: str) -> "StoreStatus":
    from kinepy import open_store

    async with open_store(url) as store:
        return await store.status()


def stored_lines(status: "StoreStatus") -> list[tuple[str, str]]:
    """What the database alone tells."""
    floors = sorted(status.prefix_floors.items())
    return [
        ("database", status.database),
        ("store", status.store_id),
        ("epoch", str(status.epoch)),
        ("current revision", str(status.current_revision)),
        ("compact revision", str(status.compact_revision)),
        *((f"compact revision of {prefix.decode(errors='replace')}", str(floor)) for prefix, floor in floors),
        ("keys", str(status.keys)),
        ("rows of the log", str(status.log_rows)),
        ("leases", str(status.leases)),
        ("size", f"{status.size_bytes / _MIB:.1f} MiB"),
    ]


def server_lines(server: RunningServer | None) -> list[tuple[str, str]]:
    """What a running server tells."""
    if server is None:
        return [("server", NOBODY)]
    lines = [("server", server.url)]
    lines += [(text, str(found)) for text, _, name in LIVE if (found := server.figure(name)) is not None]
    sizes = [server.batch_size(share) for share in (0.5, 0.99)]
    if None not in sizes:
        lines.append(("batch size, p50 and p99", " and ".join(f"{size:g}" for size in sizes)))
    return lines


def as_json(status: "StoreStatus", server: RunningServer | None) -> dict[str, Any]:
    """All of it for programs. Prefixes that are no UTF-8 are shown with replacement characters."""
    return {
        "database": status.database,
        "store_id": status.store_id,
        "epoch": status.epoch,
        "current_revision": status.current_revision,
        "compact_revision": status.compact_revision,
        "prefix_floors": {
            prefix.decode(errors="replace"): floor for prefix, floor in sorted(status.prefix_floors.items())
        },
        "keys": status.keys,
        "log_rows": status.log_rows,
        "leases": status.leases,
        "size_bytes": status.size_bytes,
        "server": None if server is None else _server_json(server),
    }


def _server_json(server: RunningServer) -> dict[str, Any]:
    live = {key: server.figure(name) for _, key, name in LIVE}
    sizes = {f"batch_size_p{share}": _finite(server.batch_size(share / 100)) for share in (50, 99)}
    return {"url": server.url, **live, **sizes}


def _finite(size: float | None) -> float | None:
    """JSON has no infinity, which is the size of the last bucket."""
    return None if size is None or size == float("inf") else size


def _print_table(lines: list[tuple[str, str]]) -> None:
    """A table on a terminal; for programs that read lines, a name and a value on each."""
    if not sys.stdout.isatty():
        width = max(len(name) for name, _ in lines)
        for name, value in lines:
            print(f"{name:<{width}}  {value}")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    for name, value in lines:
        table.add_row(Text(name), Text(value))
    Console().print(table)
