"""Plain counters of one open store; whoever serves metrics reads them."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

BATCH_SIZE_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
SECONDS_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Histogram:
    """Counts of observations by upper bound (the last count is of those above every bound), and their sum."""

    __slots__ = ("bounds", "count", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.count = 0
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one observation."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.count += 1
        self.sum += value


@dataclass(slots=True)
class StoreMetrics:
    """Figures since the store was opened."""

    batch_size: Histogram = field(default_factory=lambda: Histogram(BATCH_SIZE_BOUNDS))
    """Writes in each commit batch; its count is the number of batches, its sum the number of writes."""
    commit_seconds: Histogram = field(default_factory=lambda: Histogram(SECONDS_BOUNDS))
    """From asking for the order lock until the commit was durable."""
    lock_wait_seconds: Histogram = field(default_factory=lambda: Histogram(SECONDS_BOUNDS))
    """From asking for the order lock until it was held."""
    queued_writes: int = 0
    watchers: int = 0
    watchers_overflowed: int = 0
    events_published: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    storage_errors: dict[str, int] = field(default_factory=dict)
    """Failures of the database by operation."""
    tail_lag: int = 0
    """Revisions that the database is known to be ahead of this process."""
    compaction_lag: int = 0
    """Revisions between the floor and what retention would allow to compact."""
    compacted_rows: int = 0
    resyncs: int = 0
    """How often the local state had to be read anew, because history it needed was gone."""

    epochs_begun: int = 0
    """How often this process found the database older than what was seen of it."""

    @property
    def batches(self) -> int:
        """Commit batches so far."""
        return self.batch_size.count

    @property
    def writes(self) -> int:
        """Writes answered by a commit batch so far."""
        return int(self.batch_size.sum)

    def failed(self, operation: str) -> None:
        """Count a failure of the database."""
        self.storage_errors[operation] = self.storage_errors.get(operation, 0) + 1
