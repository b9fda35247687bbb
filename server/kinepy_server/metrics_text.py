"""/metrics: the figures in the text form that Prometheus reads, under the original's names where they mean the same."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kinepy import KeyRange
from kinepy.errors import KinepyError
from kinepy_server.context import Context
from kinepy_server.metrics import DURATION_BUCKETS_S, HttpMetrics, Series
from kinepy_server.request import Request
from kinepy_server.response import Response

if TYPE_CHECKING:
    from prometheus_client import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REQUEST_LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "dry_run", "component")
RUNNING_LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "component")
COMPONENT = "apiserver"


class MetricsPage:
    """The handler of /metrics. Figures are read when they are asked for; nothing runs in between."""

    def __init__(self, metrics: HttpMetrics) -> None:
        self._metrics = metrics
        self._store_id: str | None = None

    async def __call__(self, context: Context, request: Request) -> Response:
        """All figures."""
        from prometheus_client import CollectorRegistry, generate_latest

        counts = await storage_objects(context)
        await self._identify(context)
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Families(self._families(context, counts)))
        return Response(200, generate_latest(registry), CONTENT_TYPE)

    async def _identify(self, context: Context) -> None:
        """Ask the database once which store it is. One that is away hides no figure but that."""
        if self._store_id is None:
            with suppress(KinepyError):
                self._store_id = await context.store.store_id()

    def _families(self, context: Context, counts: Mapping[str, int]) -> Iterator["Metric"]:
        from kinepy_server.metrics_controllers import controller_families
        from kinepy_server.metrics_flow import flow_families
        from kinepy_server.metrics_store import identity_family, slow_watch_families, store_families

        yield from request_families(self._metrics.series())
        yield from flow_families(context.flow)
        yield from object_families(counts)
        if self._store_id is not None:
            yield identity_family(self._store_id)
        yield from store_families(context.store)
        yield from slow_watch_families(context.slow_watches)
        yield from controller_families(context.controllers)


class _Families:
    """What prometheus_client calls a collector."""

    def __init__(self, families: Iterator["Metric"]) -> None:
        self._families = families

    def collect(self) -> Iterator["Metric"]:
        return self._families


async def storage_objects(context: Context) -> Mapping[str, int]:
    """Objects by qualified resource, as this process has applied them: no question to the database."""
    counts = {}
    for resource in context.registry.stored():
        prefix = KeyRange.prefix(resource.list_prefix(""))
        counts[resource.qualified] = (await context.store.count(prefix, consistent=False)).count
    return counts


def request_families(series: Sequence[Series]) -> Iterator["Metric"]:
    """Requests: how many, how long, how many are open."""
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    total = CounterMetricFamily(
        "apiserver_request", "Answered requests by code.", labels=(*REQUEST_LABELS, "code")
    )
    duration = HistogramMetricFamily(
        "apiserver_request_duration_seconds", "Time to answer, without watches.", labels=REQUEST_LABELS
    )
    running = GaugeMetricFamily("apiserver_longrunning_requests", "Open watches.", labels=RUNNING_LABELS)
    for one in series:
        labels = (*one.labels, COMPONENT)
        for code, count in sorted(one.codes.items()):
            total.add_metric((*labels, str(code)), count)
        if one.labels.verb == "WATCH":
            running.add_metric((*one.labels[:-1], COMPONENT), one.running)
        else:
            duration.add_metric(labels, histogram_buckets(DURATION_BUCKETS_S, one.buckets), one.seconds)
    yield total
    yield duration
    yield running


def object_families(counts: Mapping[str, int]) -> Iterator["Metric"]:
    """Stored objects by resource, under the original's older and newer name."""
    from prometheus_client.metrics_core import GaugeMetricFamily

    old = GaugeMetricFamily("apiserver_storage_objects", "Stored objects.", labels=("resource",))
    new = GaugeMetricFamily("apiserver_resource_objects", "Stored objects.", labels=("group", "resource"))
    for qualified, count in counts.items():
        plural, _, group = qualified.partition(".")
        old.add_metric((qualified,), count)
        new.add_metric((group, plural), count)
    yield old
    yield new


def histogram_buckets(bounds: Sequence[float], counts: Sequence[int]) -> list[Any]:
    """Counts per bucket (the last without bound) as the cumulative pairs of the text form."""
    pairs, total = [], 0
    for bound, count in zip((*map(_bound, bounds), "+Inf"), counts, strict=True):
        total += count
        pairs.append((bound, float(total)))
    return pairs


def _bound(bound: float) -> str:
    return repr(float(bound))
