"""The model itself, by hand."""

import pytest

from kinepy.errors import Compacted, KeyExists
from kinepy.keys import KeyRange
from kinepy.records import DeleteRange, Put, Txn
from kinepy.revision import Revision
from tests.reference.mvcc import Model

ALL = KeyRange.everything()


def test_a_key_lives_dies_and_begins_anew() -> None:
    model = Model()
    model.create(b"a", b"1")
    model.update(b"a", b"2")
    model.delete(b"a")
    again = model.create(b"a", b"3")
    assert (again.create_revision, again.mod_revision, again.version) == (5, 5, 1)
    assert [model.get(b"a", Revision(at)) is None for at in (1, 2, 3, 4, 5)] == [
        True,
        False,
        False,
        True,
        False,
    ]


def test_a_failed_create_takes_no_revision() -> None:
    model = Model()
    model.create(b"a", b"1")
    with pytest.raises(KeyExists):
        model.create(b"a", b"1")
    assert model.revision == 2


def test_a_transaction_is_one_revision() -> None:
    model = Model()
    model.put(b"a", b"1")
    model.txn(Txn(then=[DeleteRange(range=ALL), Put(key=b"b", value=b"2")]))
    assert [event.revision for event in model.events] == [2, 3, 3]


def test_compaction_keeps_its_own_revision() -> None:
    model = Model()
    model.put(b"a", b"1")
    model.put(b"a", b"2")
    model.compact(Revision(3))
    assert len(model.since(ALL, Revision(3))) == 1
    with pytest.raises(Compacted):
        model.since(ALL, Revision(2))
