"""The decision tables of list and watch, and the combinations of options that are refused."""

import pytest

from kinepy_server.errors import StatusError
from kinepy_server.read.options import parse_options
from kinepy_server.read.plan import ListPlan, Snapshot, WatchPlan, plan_list, plan_watch
from tests.http.reading import reading, resource

NEWEST = Snapshot(consistent=True)


def options_query(query: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in query.split("&") if part)
    return {name: value for name, _, value in pairs}


def planned_list(query: str) -> ListPlan:
    return plan_list(parse_options(reading(resource(), "list", query=options_query(query)), watch=False))


def planned_watch(query: str) -> WatchPlan:
    return plan_watch(parse_options(reading(resource(), "watch", query=options_query(query)), watch=True))


@pytest.mark.parametrize(
    ("query", "snapshot", "limit"),
    [
        ("", NEWEST, None),
        ("limit=5", NEWEST, 5),
        ("limit=0", NEWEST, None),
        ("limit=-1", NEWEST, None),
        ("resourceVersion=0&limit=5", Snapshot(not_older=0), None),
        ("resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=5", Snapshot(not_older=0), None),
        ("resourceVersion=7", Snapshot(not_older=7), None),
        ("resourceVersion=007", Snapshot(not_older=7), None),
        ("resourceVersion=7&limit=5", Snapshot(exactly=7), 5),
        ("resourceVersion=7&resourceVersionMatch=NotOlderThan&limit=5", Snapshot(not_older=7), 5),
        ("resourceVersion=7&resourceVersionMatch=Exact", Snapshot(exactly=7), None),
    ],
)
def test_a_list_reads_the_state_that_the_table_says(
    query: str, snapshot: Snapshot, limit: int | None
) -> None:
    assert planned_list(query) == ListPlan(snapshot, limit)


@pytest.mark.parametrize(
    ("query", "plan"),
    [
        ("", WatchPlan(NEWEST, None, False, True)),
        ("resourceVersion=0", WatchPlan(Snapshot(not_older=0), None, False, False)),
        ("resourceVersion=7", WatchPlan(None, 7, False, False)),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", WatchPlan(NEWEST, None, False, True)),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=7",
            WatchPlan(Snapshot(not_older=7), None, True, False),
        ),
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", WatchPlan(None, None, False, True)),
        (
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0",
            WatchPlan(None, None, False, False),
        ),
        (
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=7",
            WatchPlan(None, 7, False, False),
        ),
    ],
)
def test_a_watch_begins_as_the_table_says(query: str, plan: WatchPlan) -> None:
    assert planned_watch(query) == plan


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("limit=ten", 400, 'strconv.ParseInt: parsing "ten": invalid syntax'),
        ("limit=99999999999999999999", 400, 'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
        (
            "resourceVersion=-1",
            400,
            'invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1":'
            " invalid syntax",
        ),
        ("continue=%%&resourceVersion=5", 400, "invalid continue token: continue key is not valid: illegal base64 data"
         " at input byte 0"),
        (
            "resourceVersionMatch=Exact",
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is'
            " forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersion=5&resourceVersionMatch=Roughly",
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Roughly": supported'
            ' values: "Exact", "NotOlderThan", ""',
        ),
    ],
)  # fmt: skip
def test_options_that_contradict_each_other_are_refused(query: str, code: int, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        planned_list(query)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_a_watch_at_a_revision_that_is_no_number_is_a_500_without_reason() -> None:
    with pytest.raises(StatusError) as caught:
        planned_watch("resourceVersion=abc")
    assert (caught.value.code, caught.value.reason) == (500, "")


def test_a_revision_beyond_every_store_is_still_a_number() -> None:
    assert planned_watch(f"resourceVersion={2**64 - 1}").after == 2**63 - 2
