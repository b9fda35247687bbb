"""Every setting of the library, with its bound and its unit in its name."""

from collections.abc import Set
from dataclasses import dataclass, fields
from typing import Any

from kinepy.retention import Retention, parse_rules

MIB = 1024 * 1024

POSTGRES_STANDBYS = ("asynchronous", "synchronous")

MAY_BE_ZERO = frozenset(
    {
        "transaction_depth_max",
        "reconnect_backoff_max_s",
        "postgres_statement_cache",
        "index_bytes_max",
        "cache_bytes_max",
        "ring_bytes_max",
        "compaction_keep_s",
        "compaction_keep_changes",
    }
)
"""Settings whose 0 means "none of it". With any other at 0 nothing could ever be done, or waiting would never pause."""


def check_bounds(settings: Any, *, may_be_zero: Set[str]) -> None:
    """Raise ValueError for the first number of a dataclass of settings that is out of bounds."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if not isinstance(value, int | float):
            continue
        zero_is_allowed = field.name in may_be_zero
        # Written so that NaN, which compares as false, is refused too.
        if not (value >= 0 if zero_is_allowed else value > 0):
            bound = "0 or more" if zero_is_allowed else "more than 0"
            raise ValueError(f"{field.name} is {value}: it must be {bound}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one open store. Durations are in seconds (`_s`), sizes in bytes (`_bytes`).

    Raises ValueError for numbers with which the store could not work, and for retention that cannot be read.
    """

    # Writing
    key_bytes_max: int = 4096
    value_bytes_max: int = 3 * MIB
    transaction_operations_max: int = 1024
    transaction_keys_max: int = 10_000
    transaction_read_bytes_max: int = 64 * MIB
    transaction_depth_max: int = 64
    batch_writes_max: int = 512
    batch_bytes_max: int = 16 * MIB
    write_queue_max: int = 10_000
    write_queue_bytes_max: int = 256 * MIB
    write_timeout_s: float = 30.0

    # Database
    lock_timeout_s: float = 10.0
    idle_in_transaction_timeout_s: float = 5.0
    statement_timeout_s: float = 60.0
    read_connections_max: int = 4
    poll_interval_s: float = 0.02
    poll_interval_notified_s: float = 2.0
    reconnect_backoff_max_s: float = 2.0
    witness_path: str | None = None
    sqlite_synchronous: str = "FULL"
    postgres_schema: str | None = None
    postgres_statement_cache: int = 100
    postgres_standbys: str = "asynchronous"

    # Reading
    index_bytes_max: int = 1024 * MIB
    cache_bytes_max: int = 256 * MIB
    ring_bytes_max: int = 128 * MIB
    page_rows_max: int = 1000

    # Watching
    watch_queue_events_max: int = 10_000
    watch_queue_bytes_max: int = 32 * MIB
    watchers_max: int = 20_000

    # Compaction
    compaction_interval_s: float = 60.0
    compaction_keep_s: float = 3600.0
    compaction_keep_changes: int = 10_000
    compaction_batch_rows: int = 1000
    retention: tuple[str, ...] = ()

    # Leases
    lease_check_interval_s: float = 0.5
    lease_ttl_s_max: int = 9_000_000_000

    def __post_init__(self) -> None:
        check_bounds(self, may_be_zero=MAY_BE_ZERO)
        if self.postgres_standbys not in POSTGRES_STANDBYS:
            allowed = " or ".join(POSTGRES_STANDBYS)
            raise ValueError(f"postgres_standbys is {self.postgres_standbys!r}: it must be {allowed}")
        parse_rules(self.retention, default=Retention())
