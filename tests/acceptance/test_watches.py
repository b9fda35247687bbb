"""Acceptance (12) and (13): where a watch may start, and that it says everything once."""

from itertools import islice

from tests.acceptance.servers import Place
from tests.processes import Client, Json


def told(events: list[Json]) -> list[tuple[str, str, int]]:
    """(type, name, revision) of each event."""
    return [
        (
            event["type"],
            event["object"]["metadata"].get("name", ""),
            int(event["object"]["metadata"]["resourceVersion"]),
        )
        for event in events
    ]


def write_story(client: Client, place: Place) -> list[tuple[str, str, int]]:
    """A few writes; returns what a watch must tell of them."""
    created = client.create("w1", namespace=place.namespace, v="0")
    changed = client.replace({**created, "data": {"v": "1"}}).json()
    other = client.create("w2", namespace=place.namespace)
    client.delete("w1", namespace=place.namespace)
    deleted = client.revision()
    return [
        ("ADDED", "w1", int(created["metadata"]["resourceVersion"])),
        ("MODIFIED", "w1", int(changed["metadata"]["resourceVersion"])),
        ("ADDED", "w2", int(other["metadata"]["resourceVersion"])),
        ("DELETED", "w1", deleted),
    ]


def test_a12_a_watch_from_a_compacted_revision_is_one_error(client: Client, place: Place) -> None:
    client.create("w0", namespace=place.namespace)
    place.compact()
    with client.watch(place.configmaps, resourceVersion=1) as events:
        (error,) = list(events)
    assert error["type"] == "ERROR"
    status = error["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")


def test_a12_a_watch_from_the_last_revision_tells_every_event_once(client: Client, place: Place) -> None:
    start = client.revision()
    story = write_story(client, place)
    with client.watch(place.configmaps, resourceVersion=start, timeoutSeconds=1) as events:
        assert told(list(events)) == story
    with client.watch(place.configmaps, resourceVersion=story[1][2], timeoutSeconds=1) as events:
        assert told(list(events)) == story[2:]


def test_a12_a_live_watch_tells_every_event_once(client: Client, place: Place) -> None:
    with client.watch(place.configmaps, resourceVersion=client.revision()) as events:
        story = write_story(client, place)
        assert told(list(islice(events, 4))) == story


def test_a12_a_watch_can_start_right_after_the_compaction(client: Client, place: Place) -> None:
    client.create("edge", namespace=place.namespace)
    client.delete("edge", namespace=place.namespace)
    compacted = client.revision()
    place.compact()
    with client.watch(place.configmaps, resourceVersion=compacted - 1, timeoutSeconds=1) as events:
        assert told(list(events)) == [("DELETED", "edge", compacted)]
    with client.watch(place.configmaps, resourceVersion=compacted - 2, timeoutSeconds=1) as events:
        assert [event["type"] for event in events] == ["ERROR"]


def test_a13_an_idle_watch_with_bookmarks_survives_compaction(
    client: Client, place: Place, empty: Place
) -> None:
    start = client.revision()
    options: dict[str, str | int] = {
        "allowWatchBookmarks": "true",
        "timeoutSeconds": 5,
        "resourceVersion": start,
    }
    with client.watch(empty.configmaps, **options) as events:
        for i in range(3):
            client.create(f"noise{i}", namespace=place.namespace)
        newest = client.revision()
        place.compact()
        kinds, _, revisions = zip(*told(list(events)), strict=True)
    assert set(kinds) == {"BOOKMARK"}
    assert revisions[-1] >= newest
    with client.watch(empty.configmaps, resourceVersion=start, timeoutSeconds=1) as events:
        assert [event["type"] for event in events] == ["ERROR"]
    with client.watch(empty.configmaps, resourceVersion=revisions[-1], timeoutSeconds=1) as events:
        assert list(events) == []
