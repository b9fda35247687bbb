"""The newest state in memory, and what it does not keep."""

from kinepy import Event, EventType, KeyValue, Revision, Settings
from kinepy.store.cache import Cache


def put(key: bytes, revision: int) -> Event:
    return Event(EventType.PUT, KeyValue(key, b"v" * 100, Revision(revision), Revision(revision), 1), None)


def gone(key: bytes, revision: int) -> Event:
    return Event(EventType.DELETE, KeyValue(key, b"", Revision(0), Revision(revision), 0), None)


def test_nothing_is_left_of_keys_that_were_read_and_deleted() -> None:
    cache = Cache(Settings(cache_bytes_max=500))
    for number in range(1, 2000, 2):
        key = b"%d" % number
        cache.apply([put(key, number)], Revision(number))
        cache.touch([key])
        cache.apply([gone(key, number + 1)], Revision(number + 1))
    assert not cache._touched and not cache.entries and not cache._subs
    assert len(cache._hand) < 1100
