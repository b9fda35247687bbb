"""Which revisions of which ranges are readable."""

import pytest

from kinepy import KeyRange, Revision
from kinepy.drivers.base import EpochRow
from kinepy.errors import Compacted
from kinepy.log.floors import Floors

FLOORS = Floors({b"": Revision(5), b"/events/": Revision(9), b"/old/": Revision(3)})


@pytest.mark.parametrize(
    ("key_range", "floor"),
    [
        (KeyRange.everything(), 9),
        (KeyRange.prefix(b"/events/ns/"), 9),
        (KeyRange.single(b"/events/"), 9),
        (KeyRange.prefix(b"/event"), 9),
        (KeyRange.prefix(b"/pods/"), 5),
        (KeyRange.prefix(b"/old/"), 3),
        (KeyRange.single(b"/old/a"), 3),
        (KeyRange.prefix(b"/old"), 5),
        (KeyRange(b"/old/a", b"/old0"), 3),
        (KeyRange(b"/old/a", b"/old1"), 5),
    ],
)
def test_the_floor_of_a_range_is_the_highest_of_its_keys(key_range: KeyRange, floor: int) -> None:
    assert FLOORS.of(key_range) == floor
    FLOORS.check(key_range, Revision(floor))
    with pytest.raises(Compacted):
        FLOORS.check(key_range, Revision(floor - 1))


def test_the_longest_prefix_has_the_say() -> None:
    floors = Floors({b"": Revision(9), b"/a/": Revision(3), b"/a/b/": Revision(5), b"/a/c/": Revision(1)})
    for prefix, floor in ((b"/a/b/", 5), (b"/a/c/x", 1), (b"/a/d", 3), (b"/a/", 5), (b"/b/", 9), (b"", 9)):
        assert floors.of(KeyRange.prefix(prefix)) == floor
    assert [floors.of_prefix(prefix) for prefix in (b"", b"/a/", b"/a/b/c")] == [9, 3, 5]
    assert floors.highest == 9


def test_a_look_that_knows_less_does_not_supersede() -> None:
    older = Floors({b"": Revision(5), b"/a/": Revision(5)})
    newer = Floors({b"": Revision(5), b"/a/": Revision(7)})
    assert newer.supersedes(older) and newer.supersedes(newer) and not older.supersedes(newer)
    assert not Floors({b"": Revision(5)}).supersedes(newer)


def test_a_later_epoch_is_a_floor() -> None:
    assert Floors({b"/a/": Revision(2)}, EpochRow(2, Revision(100), "restored", 0)).by_prefix == {b"/a/": 100}
    assert Floors({}, EpochRow(1, Revision(1), "new", 0)).store == 1
    assert Floors({b"": Revision(3)}, EpochRow(2, Revision(100), "restored", 0)).store == 100


def test_ranges_that_only_touch_a_prefix_have_none_of_its_floor() -> None:
    assert FLOORS.of(KeyRange(b"/a", b"/events/")) == FLOORS.of(KeyRange(b"/events0", b"/f")) == 5


def test_prefixes_that_hold_a_range_between_them_leave_nothing_to_the_store() -> None:
    floors = Floors({b"": Revision(9), b"/a": Revision(3), b"/b": Revision(5)})
    assert floors.of(KeyRange(b"/a-", b"/b/1")) == 5
    assert floors.of(KeyRange(b"/a-", b"/c/")) == 9
