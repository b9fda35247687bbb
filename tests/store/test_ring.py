"""The ring keeps whole revisions within its bound, and undoes to any of them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kinepy import KeyRange, Revision, Settings
from kinepy.store.ring import Ring
from tests.reference.mvcc import Model

ALL = KeyRange.everything()
steps = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.binary(max_size=2) | st.none()), max_size=20
)


def history(steps: list[tuple[bytes, bytes | None]]) -> Model:
    """A model that wrote, and deleted what was there."""
    model = Model()
    for key, value in steps:
        if value is not None:
            model.put(key, value)
        elif model.get(key) is not None:
            model.delete(key)
    return model


@given(steps, st.integers(0, 4000))
def test_what_the_ring_covers_it_tells_and_undoes(
    steps: list[tuple[bytes, bytes | None]], bytes_max: int
) -> None:
    model, ring = history(steps), Ring(replace(Settings(), ring_bytes_max=bytes_max))
    ring.reset(Revision(1))
    for event in model.events:
        ring.append([event])
    assert ring.size_bytes <= bytes_max
    now = model.state(model.revision)
    for after in range(ring.floor, model.revision + 1):
        events, reached = ring.page(ALL, after=Revision(after), limit=100)
        assert events == [event for event in model.events if event.revision > after] and reached is None
        undone = {**now, **ring.undo(ALL, after=Revision(after))}
        assert {key: kv for key, kv in undone.items() if kv is not None} == model.state(Revision(after))


def test_a_page_ends_between_revisions() -> None:
    model, ring = history([(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]), Ring(Settings())
    ring.append(model.events)
    for event in model.events[1:]:
        event.kv.mod_revision = Revision(3)
    events, reached = ring.page(ALL, after=Revision(0), limit=1)
    assert (len(events), reached) == (1, 2)
    events, reached = ring.page(ALL, after=Revision(2), limit=1)
    assert (len(events), reached) == (2, None)
