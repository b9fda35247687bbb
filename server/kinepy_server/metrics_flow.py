"""The figures of bounded concurrency, for /metrics."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from kinepy_server.flow.control import FlowControl
from kinepy_server.flow.gate import Gate

if TYPE_CHECKING:
    from prometheus_client import Metric

READING: Final = "readOnly"
WRITING: Final = "mutating"
GAUGES: tuple[tuple[str, str, Callable[[Gate], int]], ...] = (
    ("apiserver_current_inflight_requests", "Requests that are served now.", lambda gate: gate.inside),
    ("apiserver_current_inqueue_requests", "Requests that wait for their turn.", lambda gate: gate.waiting),
    ("kinepy_inflight_bytes", "Bytes of large answers or bodies held now.", lambda gate: gate.held_bytes),
)


def flow_families(flow: FlowControl) -> Iterator["Metric"]:
    """What is let in, what waits, what was refused."""
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

    gates: tuple[tuple[str, Gate], ...] = ((READING, flow.reading), (WRITING, flow.writing))
    for name, text, read in GAUGES:
        gauge = GaugeMetricFamily(name, text, labels=("request_kind",))
        for kind, gate in gates:
            gauge.add_metric((kind,), read(gate))
        yield gauge
    # The original's schemas and levels are objects; here each kind of request is a level.
    refused = CounterMetricFamily(
        "apiserver_flowcontrol_rejected_requests",
        "Requests answered 429, by reason.",
        labels=("flow_schema", "priority_level", "reason"),
    )
    for kind, gate in gates:
        for reason, count in gate.refused.items():
            refused.add_metric(("", kind, reason.value), count)
    yield refused
    connections = flow.connections
    yield GaugeMetricFamily("kinepy_connections", "Open connections.", value=len(connections.members))
    yield CounterMetricFamily(
        "kinepy_connections_refused", "Connections that were one too many.", value=connections.refused
    )
