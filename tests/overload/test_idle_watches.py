"""Ten thousand watches on which nothing happens cost little, and hear at once when something does."""

import asyncio
import resource
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.overload.conftest import FILES, WATCHES
from tests.processes import ServerProcess, configmaps

AT_ONCE = 100
RSS_BYTES_MAX = 400e6
REQUEST = f"GET {configmaps('kube-public')}?watch=true&resourceVersion={{}} HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def many_files() -> Iterator[None]:
    """This process may open as many files as the test needs; so may the server, which allows it to itself."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before < FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


class Watching(asyncio.Protocol):
    """One watch: its head, then its first event."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        loop = asyncio.get_running_loop()
        self.open: asyncio.Future[None] = loop.create_future()
        self.event: asyncio.Future[None] = loop.create_future()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # it is one
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.open.done():
            assert data.startswith(b"HTTP/1.1 200 ")
            self.open.set_result(None)
        if b'"ADDED"' in data:
            self.event.set_result(None)


async def open_watches(port: int, start: int) -> list[Watching]:
    """All watches, some at a time."""
    loop = asyncio.get_running_loop()
    request = REQUEST.format(start).encode()
    watches: list[Watching] = []
    for _ in range(WATCHES // AT_ONCE):
        connecting = (
            loop.create_connection(lambda: Watching(request), "127.0.0.1", port) for _ in range(AT_ONCE)
        )
        opened = [protocol for _, protocol in await asyncio.gather(*connecting)]
        await asyncio.gather(*(watch.open for watch in opened))
        watches += opened
    return watches


@pytest.mark.many_files
@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.usefixtures("many_files")
async def test_ten_thousand_idle_watches_need_less_than_400_mb(tmp_path: Path) -> None:
    options = ("--controllers", "none")
    with ServerProcess(tmp_path / "data", insecure=True, options=options) as server:
        with server.client() as client:
            start = client.revision()
            watches = await open_watches(server.port, start)
            assert psutil.Process(server.pid).memory_info().rss < RSS_BYTES_MAX
            client.create("news", namespace="kube-public")
        await asyncio.gather(*(watch.event for watch in watches))
        for watch in watches:
            watch.transport.abort()
