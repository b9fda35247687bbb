"""What the bare engines do: the figures that kinepy's are compared with, measured in the same run."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from tests.processes import free_port

BATCH = 64
VALUE = b"x" * 1024


def sqlite_rows_per_s(folder: Path, *, rows: int) -> float:
    """Rows per second into a WAL database with synchronous=FULL, 64 rows of 1 KB in a transaction."""
    connection = sqlite3.connect(folder / "raw.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE log (revision INTEGER PRIMARY KEY, key BLOB UNIQUE, value BLOB)")
    began = time.perf_counter()
    for first in range(0, rows, BATCH):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO log VALUES (?, ?, ?)",
            [
                (number, b"/registry/configmaps/default/%d" % number, VALUE)
                for number in range(first, first + BATCH)
            ],
        )
        connection.execute("COMMIT")
    wall_s = time.perf_counter() - began
    connection.close()
    return rows / wall_s


async def _postgres(url: str, rows: int) -> float:
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE raw (revision BIGINT PRIMARY KEY, key BYTEA UNIQUE, value BYTEA)")
    insert = await connection.prepare(
        "INSERT INTO raw SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[])"
    )
    began = time.perf_counter()
    for first in range(0, rows, BATCH):
        numbers = list(range(first, first + BATCH))
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(1)")
            keys = [b"/registry/configmaps/default/%d" % number for number in numbers]
            await insert.fetch(numbers, keys, [VALUE] * BATCH)
    wall_s = time.perf_counter() - began
    await connection.close()
    return rows / wall_s


def postgres_rows_per_s(url: str, *, rows: int) -> float:
    """Rows per second into PostgreSQL, 64 rows of 1 KB in a transaction under an advisory lock."""
    return asyncio.run(_postgres(url, rows))


async def hello(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
    """An ASGI application that reads the body and answers at once; the floor of every HTTP figure."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    status = {"POST": 201}.get(scope["method"], 200)
    head = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": b"{}"})


@contextmanager
def hello_server() -> Iterator[str]:
    """`hello` under uvicorn in a process of its own; gives its URL."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "bench.raw:hello", "--port", str(port), "--no-access-log"]
    command += ["--loop", "uvloop", "--http", "httptools", "--log-level", "info", "--lifespan", "off"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if "running on" in line:
                break
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()
