"""Which revisions of which ranges are readable."""

import pytest

from kinepy import KeyRange, Revision
from kinepy.drivers.base import EpochRow
from kinepy.errors import Compacted
from kinepy.log.floors import Floors, overlap

FLOORS = Floors({b"": Revision(5), b"/events/": Revision(9), b"/old/": Revision(3)})


@pytest.mark.parametrize(
    ("key_range", "floor"),
    [
        (KeyRange.everything(), 9),
        (KeyRange.prefix(b"/events/ns/"), 9),
        (KeyRange.single(b"/events/"), 9),
        (KeyRange.prefix(b"/event"), 9),
        (KeyRange.prefix(b"/pods/"), 5),
        (KeyRange.prefix(b"/old/"), 5),
    ],
)
def test_the_floor_of_a_range_is_the_highest_that_it_touches(key_range: KeyRange, floor: int) -> None:
    assert FLOORS.of(key_range) == floor
    FLOORS.check(key_range, Revision(floor))
    with pytest.raises(Compacted):
        FLOORS.check(key_range, Revision(floor - 1))


def test_a_later_epoch_is_a_floor() -> None:
    assert Floors({}, EpochRow(1, Revision(1), "new", 0)).store == 1
    assert Floors({b"": Revision(3)}, EpochRow(2, Revision(100), "restored", 0)).store == 100


def test_ranges_that_only_touch_do_not_overlap() -> None:
    assert not overlap(KeyRange(b"a", b"b"), KeyRange(b"b", None))
    assert overlap(KeyRange(b"a", None), KeyRange(b"b", b"c"))
