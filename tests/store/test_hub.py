"""The hub finds exactly the watchers of a key, whatever their ranges look like."""

from hypothesis import given
from hypothesis import strategies as st

from kinepy import Event, EventType, KeyRange, KeyValue, Revision, Settings
from kinepy.errors import StoreClosed
from kinepy.log.hub import Hub
from kinepy.log.metrics import StoreMetrics

parts = st.lists(st.sampled_from([b"/", b"a", b"ab", b"\x00", b"\xff"]), max_size=4).map(b"".join)
keys = parts.filter(bool)
ranges = st.one_of(
    parts.map(KeyRange.prefix), keys.map(KeyRange.single), st.builds(KeyRange, parts, st.none() | parts)
)


def put(key: bytes, revision: int) -> Event:
    """A created key."""
    at = Revision(revision)
    return Event(EventType.PUT, KeyValue(key, b"", at, at, 1), None)


@given(st.lists(ranges, max_size=8), st.lists(keys, min_size=1, max_size=6))
def test_every_watcher_gets_its_keys_once(watched: list[KeyRange], written: list[bytes]) -> None:
    hub = Hub(Settings(), StoreMetrics())
    subscriptions = [(key_range, hub.subscribe(key_range)) for key_range in watched]
    hub.publish([put(key, n + 2) for n, key in enumerate(written)], Revision(len(written) + 1))
    for key_range, subscription in subscriptions:
        batch = subscription.take()
        got = [event.kv.key for event in batch.events] if batch is not None else []
        assert got == [key for key in written if key in key_range]
        assert subscription.progress == len(written) + 1


@given(st.lists(ranges, max_size=8))
def test_nothing_is_left_of_watchers_that_left(watched: list[KeyRange]) -> None:
    metrics = StoreMetrics()
    hub = Hub(Settings(), metrics)
    subscriptions = [hub.subscribe(key_range) for key_range in watched]
    for subscription in subscriptions:
        subscription.close()
        subscription.close()
    assert metrics.watchers == 0
    assert hub._interested(b"/a") == [] and not hub._groups


def test_what_was_queued_comes_before_the_end() -> None:
    hub = Hub(Settings(), StoreMetrics())
    subscription = hub.subscribe(KeyRange.everything())
    hub.publish([put(b"a", 2)], Revision(2))
    hub.end_all(StoreClosed())
    batch = subscription.take()
    assert batch is not None and batch.progress == subscription.progress == 2
