"""What writers notice of watches whose clients have stopped reading."""

import socket
from contextlib import ExitStack
from dataclasses import replace

from bench.kload_tool import load
from bench.table import Row
from tests.processes import ServerProcess, configmaps

WATCHES = 50
TOTAL, SIZE = 4000, 16 * 1024
REQUEST = f"GET {configmaps()}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def _open(port: int) -> socket.socket:
    watch = socket.create_connection(("127.0.0.1", port))
    watch.sendall(REQUEST)
    watch.recv(1024)
    return watch


def _creates(server: ServerProcess, prefix: str, scale: float) -> Row:
    figures = load(
        server.url, "create", clients=16, total=max(500, int(TOTAL * scale)), size=SIZE, prefix=prefix
    )
    return Row(
        name="create of 16 KB, 16 clients",
        per_second=figures["per_s"],
        p50_ms=figures["p50_ms"],
        p99_ms=figures["p99_ms"],
    )


def measure(server: ServerProcess, *, scale: float) -> list[Row]:
    """Creates without such watches, then with them."""
    alone = _creates(server, "alone", scale)
    with ExitStack() as stack:
        for _ in range(WATCHES):
            stack.enter_context(_open(server.port))
        watched = _creates(server, "watched", scale)
    return [alone, replace(watched, name=f"{watched.name}, {WATCHES} stuck watches")]
