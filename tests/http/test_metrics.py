"""/metrics: the original's names where they mean the same, and what to look at when a 410 or a stall is reported."""

import re
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kinepy_server.auth.authenticate import ADMIN
from kinepy_server.background import BackgroundServer
from kinepy_server.metrics import DURATION_BUCKETS_S, HttpMetrics
from kinepy_server.metrics_text import histogram_buckets
from kinepy_server.request import Request
from tests.processes import configmap, configmaps


def request(
    verb: str, *, resource: str = "configmaps", query: dict[str, list[str]] | None = None, **parts: Any
) -> Request:
    """A resource request as the application parses it."""
    return Request(
        "GET",
        "/",
        query or {},
        {},
        ADMIN,
        is_resource=True,
        verb=verb,
        version="v1",
        resource=resource,
        **parts,
    )


@pytest.fixture
def metrics() -> HttpMetrics:
    return HttpMetrics(lambda request: request.resource == "configmaps")


def scrape(server: BackgroundServer) -> str:
    """The text of /metrics."""
    answer = httpx.get(f"{server.url}/metrics", trust_env=False)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return answer.text


def value(text: str, name: str, **labels: str) -> float:
    """The value of the sample with at least these labels; 0 when there is none."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return sample.value
    return 0.0


CONFIGMAPS = {"group": "", "version": "v1", "resource": "configmaps", "subresource": "", "scope": "namespace"}


def test_requests_are_counted_by_verb_resource_scope_and_code(kinepy_server: BackgroundServer) -> None:
    labels = {**CONFIGMAPS, "verb": "POST", "dry_run": "", "component": "apiserver", "code": "201"}
    before = value(scrape(kinepy_server), "apiserver_request_total", **labels)
    httpx.post(
        kinepy_server.url + configmaps(), json=configmap("metrics"), trust_env=False
    ).raise_for_status()
    assert value(scrape(kinepy_server), "apiserver_request_total", **labels) == before + 1


def test_stored_objects_are_counted(kinepy_server: BackgroundServer) -> None:
    text = scrape(kinepy_server)
    assert value(text, "apiserver_storage_objects", resource="namespaces") == 4
    assert value(text, "apiserver_resource_objects", group="", resource="namespaces") == 4


def test_open_watches_are_counted_while_they_are_open(kinepy_server: BackgroundServer) -> None:
    name, labels = "apiserver_longrunning_requests", {**CONFIGMAPS, "verb": "WATCH", "component": "apiserver"}
    before = value(scrape(kinepy_server), name, **labels)
    query = {"watch": "true"}
    with httpx.stream("GET", kinepy_server.url + configmaps(), params=query, trust_env=False) as answer:
        assert answer.status_code == 200
        assert value(scrape(kinepy_server), name, **labels) == before + 1


NAMES = [
    "kinepy_current_revision",
    "kinepy_compact_revision",
    "kinepy_watchers",
    "kinepy_watch_lag_revisions",
    "kinepy_watchers_overflowed_total",
    "kinepy_compaction_lag_revisions",
    "kinepy_cache_hits_total",
    "kinepy_cache_misses_total",
    "kinepy_commit_batch_writes_bucket",
    "kinepy_commit_seconds_bucket",
    "kinepy_lock_wait_seconds_bucket",
    "apiserver_request_duration_seconds_bucket",
    "watch_cache_capacity",
    "apiserver_current_inflight_requests",
    "apiserver_current_inqueue_requests",
    "apiserver_flowcontrol_rejected_requests_total",
    "kinepy_inflight_bytes",
    "kinepy_connections",
    "kinepy_connections_refused_total",
]


@pytest.mark.parametrize("name", NAMES)
def test_figures_of_the_store_are_there(kinepy_server: BackgroundServer, name: str) -> None:
    assert re.search(rf"^{name}(\{{.*\}})? [0-9.e+]+$", scrape(kinepy_server), re.MULTILINE)


def test_names_that_clients_make_up_share_one_series(metrics: HttpMetrics) -> None:
    for number in range(1000):
        metrics.finished(request("get", resource=f"frob-{number}"), code=404, seconds=0.1)
        metrics.finished(request("get", query={"dryRun": [str(number)]}), code=400, seconds=0.1)
    assert [(one.labels.resource, sum(one.codes.values())) for one in metrics.series()] == [
        ("", 1000),
        ("configmaps", 1000),
    ]


def test_how_long_a_watch_was_open_is_no_duration(metrics: HttpMetrics) -> None:
    metrics.stream_started(request("watch"))
    assert [one.running for one in metrics.series()] == [1]
    metrics.stream_finished(request("watch"))
    metrics.finished(request("watch"), code=200, seconds=1800)
    (series,) = metrics.series()
    assert (series.running, series.seconds, sum(series.buckets), series.codes) == (0, 0.0, 0, {200: 1})


def test_buckets_add_up() -> None:
    assert histogram_buckets((0.5, 1.0), [1, 2, 3]) == [("0.5", 1.0), ("1.0", 3.0), ("+Inf", 6.0)]
    assert tuple(sorted(DURATION_BUCKETS_S)) == DURATION_BUCKETS_S
