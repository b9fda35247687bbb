"""What a watch costs on which nothing happens."""

import asyncio
from collections.abc import Callable

from bench.table import Row
from tests.processes import ServerProcess, configmaps

WATCHES = 2000
REQUEST = f"GET {configmaps('kube-public')}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n".encode()


async def _open(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(REQUEST)
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def _grown(port: int, megabytes: Callable[[], float]) -> float:
    first = [await _open(port) for _ in range(100)]
    before = megabytes()
    rest = [await _open(port) for _ in range(WATCHES)]
    after = megabytes()
    for _, writer in (*first, *rest):
        writer.close()
    return after - before


def measure(server: ServerProcess, megabytes: Callable[[], float]) -> Row:
    """Resident memory for each idle watch, in KB, its connection included."""
    grown = asyncio.run(_grown(server.port, megabytes))
    return Row(name="RSS of one idle watch, KB", per_second=grown * 1000 / WATCHES, note="to be under 30")
