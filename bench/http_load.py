"""HTTP, through a real server process in its --insecure mode and the load generator in another."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from bench import idle_watches
from bench.kload_tool import build, load
from bench.table import Row
from tests.processes import ServerProcess

OBJECTS = 10_000


def row(name: str, figures: dict[str, Any], *, raw: float | None = None, target: float | None = None) -> Row:
    """A row of the figures of one run."""
    return Row(
        name=name,
        per_second=figures["per_s"],
        p50_ms=figures["p50_ms"],
        p99_ms=figures["p99_ms"],
        raw=raw,
        target=target,
        note=f"{figures['cpu_us']:.0f} us of the server's CPU" if "cpu_us" in figures else "",
    )


def timed(server: ServerProcess, operation: str, **options: str | int) -> dict[str, Any]:
    """As `load`, with the processor time that the server took for each operation: it depends less on the machine's
    other work than the rest does."""
    process = psutil.Process(server.pid)
    before = process.cpu_times()
    figures = load(server.url, operation, **options)
    after = process.cpu_times()
    spent_s = after.user + after.system - before.user - before.system
    return {**figures, "cpu_us": spent_s / figures["ok"] * 1e6}


def megabytes(server: ServerProcess) -> float:
    """Resident memory of the server with its children, in MB."""
    process = psutil.Process(server.pid)
    return sum(one.memory_info().rss for one in [process, *process.children(recursive=True)]) / 1e6


def measure_hello(url: str, *, scale: float) -> dict[str, float]:
    """Requests per second of the bare application, by kind."""
    total = int(20_000 * scale)
    return {
        operation: load(url, operation, clients=64, total=total)["per_s"] for operation in ("create", "get")
    }


def _writes(server: ServerProcess, raw: dict[str, float], scale: float) -> list[Row]:
    creates = max(OBJECTS, int(OBJECTS * scale))
    made = timed(server, "create", clients=64, total=creates)
    memory = megabytes(server)
    changed = timed(server, "update", clients=64, total=int(5000 * scale))
    contended = timed(server, "contend", clients=16, total=int(600 * scale)) if build() else None
    rows = [
        row("create, 64 clients", made, raw=raw["create"], target=2500),
        row("update, 64 clients", changed, raw=raw["create"]),
    ]
    if contended is not None:
        if contended["lost_updates"]:
            raise SystemExit(f"updates were lost: {contended}")
        rows.append(row("contended increments, 16 clients", contended))
    memory_row = Row(name="RSS with 10 000 x 1 KB, MB", per_second=memory, note="to be under 200")
    return [*rows, memory_row]


def _reads(server: ServerProcess, raw: dict[str, float], scale: float) -> list[Row]:
    got = timed(server, "get", clients=64, total=int(20_000 * scale))
    whole = timed(server, "list", clients=4, total=max(4, int(40 * scale)))
    paged = timed(server, "page", clients=4, total=max(4, int(12 * scale)))
    lists = row("list of 10 000 x 1 KB, MB", {**whole, "per_s": whole["MB_per_s"]}, target=300)
    pages = row("list in pages of 500, items", {**paged, "per_s": paged["items_per_s"]})
    return [row("get, 64 clients", got, raw=raw["get"], target=6000), lists, pages]


def _watches(server: ServerProcess, scale: float) -> list[Row]:
    if build() is None:
        return []
    rows = []
    for watchers, clients, total in ((1, 64, int(5000 * scale)), (100, 8, int(500 * scale))):
        seen = load(
            server.url, "watch", watchers=watchers, clients=clients, total=total, prefix=f"w{watchers}"
        )
        if seen["delivered"] != seen["expected"] or seen["out_of_order"]:
            raise SystemExit(f"a watch missed or disordered events: {seen}")
        lag = {
            "per_s": seen["deliveries_per_s"],
            "p50_ms": seen["lag_p50_ms"],
            "p99_ms": seen["lag_p99_ms"],
        }
        deliveries = row(f"watch deliveries, {watchers} watchers, {clients} creators", lag)
        rows.append(replace(deliveries, note="lag from before the create, p99 to be under 100"))
    return rows


def measure(
    folder: Path, *, database: str, url: str | None, raw: dict[str, float], scale: float
) -> list[Row]:
    """Every figure of HTTP on one database."""
    with ServerProcess(folder, database=url, insecure=True, options=("--controllers", "none")) as server:
        rows = [*_writes(server, raw, scale), *_reads(server, raw, scale), *_watches(server, scale)]
        deleted = timed(server, "delete", clients=64, total=int(5000 * scale))
        rows.append(row("delete, 64 clients", deleted))
        # Last: the end of so many watches would be felt by what comes next.
        rows.append(idle_watches.measure(server, lambda: megabytes(server)))
        if server.stop() != 0:
            raise SystemExit("the server did not end cleanly")
    return [replace(one, name=f"{database}: HTTP {one.name}") for one in rows]
