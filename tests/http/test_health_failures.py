"""Checks that fail say so, and keep the reason to themselves."""

from pathlib import Path

import pytest

from kinepy import open_store
from kinepy_server.auth.authenticate import NOBODY
from kinepy_server.context import Context
from kinepy_server.health import handle_health
from kinepy_server.request import Request
from kinepy_server.resources.builtins import builtin_registry


def asked(path: str) -> Request:
    """A request for a health path."""
    return Request("GET", path, {}, {}, NOBODY)


async def test_a_stopping_server_is_alive_but_not_ready() -> None:
    async with open_store("sqlite:///:memory:") as store:
        context = Context(store, builtin_registry())
        context.shutdown.set()
        ready = await handle_health(context, asked("/readyz"))
        assert (ready.status, ready.body) == (
            500,
            b"[+]ping ok\n[+]database ok\n[+]rights ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n",
        )
        one = await handle_health(context, asked("/readyz/shutdown"))
        assert (one.status, one.body) == (500, b"internal server error: the server is stopping\n")
        assert (await handle_health(context, asked("/livez"))).status == 200


async def test_without_its_store_a_server_is_not_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(f"sqlite:///{tmp_path / 'kinepy.db'}") as store:
        context = Context(store, builtin_registry())
    ready = await handle_health(context, asked("/readyz"))
    assert ready.status == 500
    assert b"[-]database failed: reason withheld\n" in ready.body
    assert "the store is closed" in caplog.text
