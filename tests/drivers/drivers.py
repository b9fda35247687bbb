"""Open drivers, and histories to write through them."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from kinepy.clock import SystemClock
from kinepy.drivers import open_driver
from kinepy.drivers.base import Driver, LogRow
from kinepy.keys import KeyRange
from kinepy.migrate import migrate
from kinepy.revision import Revision
from kinepy.settings import Settings

FAST = Settings(poll_interval_s=0.005, poll_interval_notified_s=0.1)
IMPATIENT = Settings(lock_timeout_s=0.3)
ALL = KeyRange.everything()


@asynccontextmanager
async def opened(url: str, settings: Settings = FAST) -> AsyncIterator[Driver]:
    """A driver on a migrated database."""
    await migrate(url, settings)
    driver = await open_driver(url, settings, SystemClock())
    try:
        yield driver
    finally:
        await driver.close()


class Log:
    """Makes the rows of a log: `put` and `delete` follow what they made before, one revision each."""

    def __init__(self, *, revision: int = 1, batch: int = 1) -> None:
        self.revision, self.batch = revision, batch
        self.rows: list[LogRow] = []
        self._live: dict[bytes, LogRow] = {}

    def put(self, key: bytes, value: bytes = b"v", *, lease: int | None = None) -> LogRow:
        """A version of a key in a revision of its own."""
        self.revision += 1
        return self._add(key, value, lease=lease, sub=0)

    def delete(self, key: bytes) -> LogRow:
        """The tombstone of a key."""
        self.revision += 1
        return self._add(key, None, lease=None, sub=0)

    def put_together(self, keys: Iterable[bytes]) -> list[LogRow]:
        """Versions of several keys in one revision."""
        self.revision += 1
        return [self._add(key, b"t", lease=None, sub=sub) for sub, key in enumerate(keys)]

    def state_at(self, revision: int) -> list[LogRow]:
        """The plainest way to a state: play the rows up to a revision."""
        state: dict[bytes, LogRow] = {}
        for row in self.rows:
            if row.revision <= revision:
                state[row.key] = row
        return sorted((row for row in state.values() if row.value is not None), key=lambda row: row.key)

    def _add(self, key: bytes, value: bytes | None, *, lease: int | None, sub: int) -> LogRow:
        revision, last = Revision(self.revision), self._live.pop(key, None)
        row = LogRow(
            revision,
            sub,
            key,
            value,
            last.create_revision if last else revision,
            (last.version if last else 0) + (value is not None),
            last.revision if last else Revision(0),
            lease,
            self.batch,
            1000 * self.revision,
            "tester",
        )
        if value is not None:
            self._live[key] = row
        self.rows.append(row)
        return row


async def append(driver: Driver, rows: Sequence[LogRow]) -> None:
    """Commit rows in one transaction."""
    async with driver.write([row.key for row in rows]) as tx:
        await tx.append(rows)


def some_history() -> Log:
    """Creates, updates, deletes, a create anew, a revision of several keys, and awkward keys."""
    log = Log()
    for key in (b"a", b"a/1", b"a-1", b"a\x00", b"b", b"\xff\xff"):
        log.put(key)
    log.put(b"a/1", b"w")
    log.delete(b"b")
    log.put_together([b"c/1", b"c/2", b"c/3"])
    log.put(b"b", b"again")
    log.delete(b"a-1")
    log.put(b"c/2", b"x")
    log.put(b"a", b"y" * 2000)
    log.delete(b"c/3")
    return log
