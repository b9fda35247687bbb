"""More clients than are let in at once, who come again at once when they are refused: what the accepted ones see.

The figures are those of answers that were accepted. Latencies hold the wait for a turn.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from bench import stuck_watches
from bench.kload_tool import run
from bench.table import Row
from tests.processes import ServerProcess

OBJECTS = 5000
RUNS = (
    ("get", 64, 20_000),
    ("get", 1600, 40_000),
    ("create", 64, 5000),
    ("create", 800, 20_000),
    ("list", 16, 100),
    ("list", 400, 1000),
)
"""Operation, clients, operations in all: within the limits, then four times as many as these let in."""


def _row(server: ServerProcess, operation: str, figures: dict[str, Any]) -> Row:
    refused = sum(figures["errors"].values())
    unexpected = [error for error in figures["errors"] if not error.startswith("429")]
    if unexpected:
        raise SystemExit(f"{operation} met errors: {unexpected}")
    megabytes = psutil.Process(server.pid).memory_info().rss / 1e6
    return Row(
        name=f"accepted {operation}, {figures['clients']} clients",
        per_second=figures["per_s"],
        p50_ms=figures["p50_ms"],
        p99_ms=figures["p99_ms"],
        note=f"{refused} of {refused + figures['ok']} refused; RSS {megabytes:.0f} MB",
    )


def measure(folder: Path, *, database: str, url: str | None, scale: float) -> list[Row]:
    """Each run on a server with its default limits."""
    rows: list[Row] = []
    with ServerProcess(folder, database=url, insecure=True, options=("--controllers", "none")) as server:
        run(server.url, "create", clients=64, total=OBJECTS)
        for operation, clients, total in RUNS:
            counted = max(clients, int(total * scale))
            prefix = f"o{clients}" if operation == "create" else "load"
            figures = run(server.url, operation, clients=clients, total=counted, prefix=prefix)
            rows.append(_row(server, operation, figures))
        rows += stuck_watches.measure(server, scale=scale)
        if server.stop() != 0:
            raise SystemExit("the server did not end cleanly")
    return [replace(row, name=f"{database}: HTTP {row.name}") for row in rows]
