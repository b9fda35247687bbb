"""New connections are taken many at a time, so that a busy server does not leave them waiting for many rounds."""

import asyncio
import socket

import pytest

from kinepy_server.server import ACCEPTED_AT_ONCE, listeners

uvloop = pytest.importorskip("uvloop")
CLIENTS = 96


class Accepting(asyncio.Protocol):
    """Counts connections."""

    def __init__(self, accepted: list[asyncio.BaseTransport]) -> None:
        self._accepted = accepted

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._accepted.append(transport)


async def rounds_until_all_are_accepted() -> int:
    """Rounds of the loop in which `CLIENTS` connections are taken that wait already."""
    loop = asyncio.get_running_loop()
    accepted: list[asyncio.BaseTransport] = []
    with socket.create_server(("127.0.0.1", 0), backlog=2 * CLIENTS) as sock:
        sock.setblocking(False)
        servers = [
            await loop.create_server(lambda: Accepting(accepted), sock=one, backlog=2 * CLIENTS)
            for one in listeners(sock)
        ]
        clients = [socket.create_connection(sock.getsockname()) for _ in range(CLIENTS)]
        rounds = 0
        while len(accepted) < CLIENTS:
            await asyncio.sleep(0)
            rounds += 1
        for server in servers:
            server.close()
        for client in clients:
            client.close()
        for transport in accepted:
            transport.close()
    return rounds


def test_connections_that_wait_are_taken_many_at_a_time() -> None:
    assert uvloop.run(rounds_until_all_are_accepted()) <= CLIENTS // ACCEPTED_AT_ONCE * 4
