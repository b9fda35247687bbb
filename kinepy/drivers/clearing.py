"""Emptying a database inside a write transaction: readers see the old state until the commit of the new one."""

from kinepy.drivers.base import WriteTransaction
from kinepy.drivers.reading import StatementReads
from kinepy.sql.clearing import CLEAR


async def clear(tx: WriteTransaction) -> None:
    """Delete keys, history and leases. The store's identity, its epochs and its floors stay."""
    assert isinstance(tx, StatementReads), "both drivers' transactions run statements alike"
    for statement in CLEAR:
        await tx._fetch(statement)
