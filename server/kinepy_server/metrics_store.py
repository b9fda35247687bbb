"""The store's figures, for /metrics: what to look at when a 410 or a stall is reported."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kinepy import Store
from kinepy_server.metrics_text import histogram_buckets

if TYPE_CHECKING:
    from prometheus_client import Metric

Read = Callable[[Store], Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its name, what it says, and where the store keeps it."""

    name: str
    text: str
    read: Read


GAUGES = (
    Figure("kinepy_current_revision", "Newest revision applied here.", lambda s: s.applied_revision),
    Figure("kinepy_compact_revision", "Oldest readable revision.", lambda s: s.compact_revision),
    Figure("kinepy_watchers", "Open watches of the store.", lambda s: s.metrics.watchers),
    Figure("kinepy_watch_lag_revisions", "Known revisions not yet published.", lambda s: s.metrics.tail_lag),
    Figure("kinepy_queued_writes", "Writes that wait for a batch.", lambda s: s.metrics.queued_writes),
    Figure(
        "kinepy_compaction_lag_revisions",
        "Revisions that retention would let go and that are still there.",
        lambda s: s.metrics.compaction_lag,
    ),
)
COUNTERS = (
    Figure(
        "kinepy_watchers_overflowed", "Watches ended as too slow.", lambda s: s.metrics.watchers_overflowed
    ),
    Figure("kinepy_events_published", "Events published to watches.", lambda s: s.metrics.events_published),
    Figure("kinepy_cache_hits", "Values served from memory.", lambda s: s.metrics.cache_hits),
    Figure("kinepy_cache_misses", "Values read from the database.", lambda s: s.metrics.cache_misses),
    Figure("kinepy_compacted_rows", "Rows deleted by compaction.", lambda s: s.metrics.compacted_rows),
    Figure("kinepy_resyncs", "Times that local state was read anew.", lambda s: s.metrics.resyncs),
)
HISTOGRAMS = (
    Figure("kinepy_commit_batch_writes", "Writes in a commit batch.", lambda s: s.metrics.batch_size),
    Figure(
        "kinepy_commit_seconds", "From asking for the lock to durable.", lambda s: s.metrics.commit_seconds
    ),
    Figure("kinepy_lock_wait_seconds", "Wait for the order lock.", lambda s: s.metrics.lock_wait_seconds),
)


def identity_family(store_id: str) -> "Metric":
    """Which store the figures are of."""
    from prometheus_client.metrics_core import InfoMetricFamily

    return InfoMetricFamily("kinepy_store", "The store that is served.", value={"store_id": store_id})


def store_families(store: Store) -> Iterator["Metric"]:
    """The figures of one store."""
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    for gauge in GAUGES:
        yield GaugeMetricFamily(gauge.name, gauge.text, value=gauge.read(store))
    for counter in COUNTERS:
        yield CounterMetricFamily(counter.name, counter.text, value=counter.read(store))
    for histogram in HISTOGRAMS:
        data = histogram.read(store)
        buckets = histogram_buckets(data.bounds, data.counts)
        yield HistogramMetricFamily(histogram.name, histogram.text, buckets=buckets, sum_value=data.sum)
    errors = CounterMetricFamily(
        "kinepy_storage_errors", "Failures of the database by operation.", labels=("operation",)
    )
    for operation, count in sorted(store.metrics.storage_errors.items()):
        errors.add_metric((operation,), count)
    yield errors
    # The original has one window of recent events for each resource, kinepy one for all.
    window = GaugeMetricFamily(
        "watch_cache_capacity", "Recent events held for watches that resume.", labels=("group", "resource")
    )
    window.add_metric(("", ""), store.recent_events)
    yield window


def slow_watch_families(counts: Mapping[tuple[str, str], int]) -> Iterator["Metric"]:
    """Watches that were ended because they did not keep up, by group and resource: the original's figure."""
    from prometheus_client.metrics_core import CounterMetricFamily

    slow = CounterMetricFamily(
        "apiserver_terminated_watchers", "Watches ended as too slow.", labels=("group", "resource")
    )
    for kind, count in sorted(counts.items()):
        slow.add_metric(kind, count)
    yield slow
