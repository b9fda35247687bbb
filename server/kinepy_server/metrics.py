"""Counting requests, cheaply: a dictionary look-up and a few additions each. `metrics_text` shows the figures."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kinepy_server.request import Request

# The original's buckets, so that its dashboards and alerts work.
DURATION_BUCKETS_S = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0,
    30.0, 45.0, 60.0,
)  # fmt: skip

VERBS: Mapping[str, str] = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETECOLLECTION",
    "post": "POST",
    "put": "PUT",
    "head": "HEAD",
    "options": "OPTIONS",
}


class Labels(NamedTuple):
    """What tells one kind of request from another, with the original's label names."""

    verb: str = "other"
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""
    dry_run: str = ""


class Series:
    """The figures of one kind of request."""

    __slots__ = ("buckets", "codes", "labels", "running", "seconds")

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.codes: dict[int, int] = {}
        self.buckets = [0] * (len(DURATION_BUCKETS_S) + 1)
        self.seconds = 0.0
        self.running = 0
        """Watches and the like that are open now."""


IsServed = Callable[[Request], bool]
"""Whether a request's resource and subresource are something this server knows."""


class HttpMetrics:
    """The figures of one server. Names that clients make up share one series, so their number is bounded."""

    def __init__(self, is_served: IsServed) -> None:
        self._is_served = is_served
        self._by_request: dict[tuple[str, ...], Series] = {}
        self._by_labels: dict[Labels, Series] = {}

    def finished(self, request: Request, *, code: int, seconds: float) -> None:
        """Count a request that was answered; how long a watch stayed open says nothing."""
        series = self._series(request)
        series.codes[code] = series.codes.get(code, 0) + 1
        if request.verb != "watch":
            series.buckets[bisect_left(DURATION_BUCKETS_S, seconds)] += 1
            series.seconds += seconds

    def stream_started(self, request: Request) -> None:
        """A stream is open from now on."""
        self._series(request).running += 1

    def stream_finished(self, request: Request) -> None:
        """The stream is open no more."""
        self._series(request).running -= 1

    def series(self) -> list[Series]:
        """All series so far."""
        return list(self._by_labels.values())

    def _series(self, request: Request) -> Series:
        scope = "resource" if request.name else "namespace" if request.namespace else ""
        dry_run = request.query.get("dryRun", ("",))[0]
        key = (
            request.verb, request.group, request.version, request.resource, request.subresource, scope, dry_run
        )  # fmt: skip
        found = self._by_request.get(key)
        return found if found is not None else self._new_series(request, key)

    def _new_series(self, request: Request, key: tuple[str, ...]) -> Series:
        verb, group, version, resource, subresource, scope, dry_run = key
        shown = VERBS.get(verb, "other")
        known = not request.is_resource or self._is_served(request)
        if not known:
            labels = Labels(shown)
        elif request.is_resource:
            dry_run = "All" if dry_run == "All" else ""
            labels = Labels(shown, group, version, resource, subresource, scope or "cluster", dry_run)
        else:
            labels = Labels(shown)
        series = self._by_labels.setdefault(labels, Series(labels))
        if known and shown != "other" and key[-1] == dry_run:
            self._by_request[key] = series
        return series
