"""The log of a database, read from its table without the library."""

import json
import sqlite3
from contextlib import closing

import asyncpg

from tests.history.records import Row

CONFIGMAPS = b"/registry/configmaps/default/"
_SELECT = "SELECT revision, key, value FROM log WHERE key >= {0} AND key < {1} ORDER BY revision, sub"


async def read_log(url: str, *, prefix: bytes) -> list[Row]:
    """All rows of the keys below a prefix, which ends with a slash."""
    bounds = (prefix, prefix[:-1] + b"0")
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as raw:
            rows = raw.execute(_SELECT.format("?", "?"), bounds).fetchall()
    else:
        connection = await asyncpg.connect(url)
        try:
            rows = await connection.fetch(_SELECT.format("$1", "$2"), *bounds)
        finally:
            await connection.close()
    value = _of_configmap if prefix == CONFIGMAPS else bytes.decode
    return [
        Row(revision, key.removeprefix(prefix).decode(), None if held is None else value(held))
        for revision, key, held in rows
    ]


def _of_configmap(stored: bytes) -> str:
    text: str = json.loads(stored)["data"]["v"]
    return text
