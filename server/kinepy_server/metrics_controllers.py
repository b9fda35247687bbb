"""The controllers' figures: who leads, what was done, what failed, what waits."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import Metric


class ControllerMetrics:
    """The figures of one process' controllers."""

    __slots__ = ("actions", "errors", "leading", "pending")

    def __init__(self) -> None:
        self.actions: Counter[tuple[str, str]] = Counter()
        """What was done, by controller and action."""
        self.errors: Counter[str] = Counter()
        """What failed and is tried again, by controller."""
        self.leading: dict[str, bool] = {}
        """Whether this process is the one that acts, by controller."""
        self.pending: dict[str, int] = {}
        """What waits to be done or to be done again, by controller."""

    def did(self, controller: str, action: str) -> None:
        """Count an action."""
        self.actions[controller, action] += 1

    def failed(self, controller: str) -> None:
        """Count a failure."""
        self.errors[controller] += 1


def controller_families(metrics: ControllerMetrics) -> Iterator["Metric"]:
    """The figures in the form of Prometheus."""
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

    leading = GaugeMetricFamily(
        "kinepy_controller_leading", "1 where this process acts.", labels=("controller",)
    )
    for controller, leads in sorted(metrics.leading.items()):
        leading.add_metric((controller,), float(leads))
    actions = CounterMetricFamily(
        "kinepy_controller_actions", "What controllers did.", labels=("controller", "action")
    )
    for labels, count in sorted(metrics.actions.items()):
        actions.add_metric(labels, count)
    errors = CounterMetricFamily(
        "kinepy_controller_errors", "What failed and is tried again.", labels=("controller",)
    )
    for controller, count in sorted(metrics.errors.items()):
        errors.add_metric((controller,), count)
    pending = GaugeMetricFamily("kinepy_controller_pending", "What waits to be done.", labels=("controller",))
    for controller, count in sorted(metrics.pending.items()):
        pending.add_metric((controller,), count)
    yield from (leading, actions, errors, pending)
