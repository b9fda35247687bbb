"""Acceptance (5)-(11): lists at a revision, in the future, after compaction, and in pages."""

import base64
import json
import time

import httpx

from tests.acceptance.servers import Place
from tests.processes import Client, Json, message, ok

LIST_TOO_OLD = "The resourceVersion for the provided list is too old."
TOKEN_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the remainder "
    "of the results. Continuing with the provided token results in an inconsistent list - objects that were "
    "created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


def names(body: Json) -> list[str]:
    """The names of a list's items, in its order."""
    return [item["metadata"]["name"] for item in body["items"]]


def decoded(token: str) -> Json:
    """What a continue token says."""
    return json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))


def first_page(client: Client, place: Place, *, of: int) -> Json:
    """The first two of `of` new objects."""
    for i in range(of):
        client.create(f"p{i}", namespace=place.namespace)
    return ok(client.get(place.configmaps, limit=2))


def exactly(client: Client, place: Place, revision: int | str) -> httpx.Response:
    """The list of the place exactly at a revision."""
    return client.get(place.configmaps, resourceVersion=revision, resourceVersionMatch="Exact")


def test_a05_a_list_at_an_old_revision_shows_a_deleted_object(client: Client, place: Place) -> None:
    old = client.create("gone", namespace=place.namespace, v="1")["metadata"]["resourceVersion"]
    client.delete("gone", namespace=place.namespace)
    client.create("later", namespace=place.namespace)
    past = ok(exactly(client, place, old))
    assert names(past) == ["gone"]
    assert past["metadata"]["resourceVersion"] == old
    assert names(ok(client.get(place.configmaps))) == ["later"]


def test_a06_a_compacted_revision_is_expired(client: Client, place: Place) -> None:
    client.create("kept", namespace=place.namespace)
    place.compact()
    assert message(exactly(client, place, 1), 410, "Expired") == LIST_TOO_OLD


def test_a06_the_compact_revision_itself_is_readable(client: Client, place: Place) -> None:
    client.create("kept", namespace=place.namespace)
    compacted = client.revision()
    place.compact()
    client.create("later", namespace=place.namespace)
    assert names(ok(exactly(client, place, compacted))) == ["kept"]
    assert message(exactly(client, place, compacted - 1), 410, "Expired") == LIST_TOO_OLD


def test_a07_a_future_revision_waits_three_seconds_and_says_so(client: Client, place: Place) -> None:
    current = client.revision()
    began = time.monotonic()
    answer = exactly(client, place, current + 1_000_000)
    waited = time.monotonic() - began
    text = message(answer, 504, "Timeout")
    assert text == f"Timeout: Too large resource version: {current + 1_000_000}, current: {current}"
    assert answer.headers["retry-after"] == "1"
    assert answer.json()["details"] == {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    assert 2.5 < waited < 5


def test_a08_a_list_of_any_revision_answers_at_once_and_whole(client: Client, place: Place) -> None:
    for i in range(5):
        client.create(f"z{i}", namespace=place.namespace)
    body = ok(client.get(place.configmaps, resourceVersion=0, limit=2))
    assert names(body) == [f"z{i}" for i in range(5)]
    assert "continue" not in body["metadata"]


def test_a09_an_empty_namespace_shows_the_stores_revision(client: Client, place: Place, empty: Place) -> None:
    for i in range(3):
        client.create(f"busy{i}", namespace=place.namespace)
    quiet, busy = ok(client.get(empty.configmaps)), ok(client.get(place.configmaps))
    assert quiet["items"] == []
    assert quiet["metadata"]["resourceVersion"] == busy["metadata"]["resourceVersion"]


def test_a10_pages_stay_at_the_snapshot_that_the_token_names(client: Client, place: Place) -> None:
    page = first_page(client, place, of=4)
    token = page["metadata"]["continue"]
    says = decoded(token)
    assert (says["v"], says["rv"]) == ("meta.k8s.io/v1", int(page["metadata"]["resourceVersion"]))
    assert says["start"].endswith("p1\0")
    assert page["metadata"]["remainingItemCount"] == 2
    client.create("p2a", namespace=place.namespace)
    client.delete("p3", namespace=place.namespace)
    rest = ok(client.get(place.configmaps, limit=2, **{"continue": token}))
    assert names(rest) == ["p2", "p3"]
    assert rest["metadata"] == {"resourceVersion": page["metadata"]["resourceVersion"]}


def test_a11_an_expired_token_comes_with_one_that_works(client: Client, place: Place) -> None:
    token = first_page(client, place, of=4)["metadata"]["continue"]
    client.create("p9", namespace=place.namespace)
    place.compact()
    expired = client.get(place.configmaps, limit=2, **{"continue": token})
    assert message(expired, 410, "Expired") == TOKEN_TOO_OLD
    fresh = expired.json()["metadata"]["continue"]
    assert decoded(fresh) == {**decoded(token), "rv": -1}
    rest = ok(client.get(place.configmaps, limit=2, **{"continue": fresh}))
    assert names(rest) == ["p2", "p3"]
    assert decoded(rest["metadata"]["continue"])["rv"] == int(rest["metadata"]["resourceVersion"])
