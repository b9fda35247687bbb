"""The queue for SQLite's lock: one at a time at its head, nobody stuck behind who stands still."""

import errno
import fcntl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinepy.drivers.sqlite import queue
from kinepy.drivers.sqlite.queue import Queue

NEVER = threading.Event()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Queue, Queue]]:
    """The same queue as two processes see it."""
    one, other = Queue(str(tmp_path / "queue")), Queue(str(tmp_path / "queue"))
    yield one, other
    one.close()
    other.close()


def enter(waiting: Queue, *, within_s: float = 60.0, abandoned: threading.Event = NEVER) -> float:
    """Come to the head; returns how long that took."""
    began = time.monotonic()
    waiting.enter(deadline=began + within_s, abandoned=abandoned)
    return time.monotonic() - began


def test_the_second_waits_for_the_first(pair: tuple[Queue, Queue]) -> None:
    one, other = pair
    enter(one)
    entered = threading.Event()

    def wait_and_tell() -> None:
        enter(other)
        entered.set()

    waiting = threading.Thread(target=wait_and_tell)
    waiting.start()
    assert not entered.wait(0.1)
    one.leave()
    assert entered.wait(10)
    waiting.join()


def test_who_stands_still_is_passed_and_then_not_waited_for_again(pair: tuple[Queue, Queue]) -> None:
    one, other = pair
    enter(one)
    assert enter(other) >= queue.TURN_MAX_S
    other.leave()
    assert sum(enter(other) for _ in range(100)) < queue.TURN_MAX_S


def test_the_queue_is_not_left_for_good(pair: tuple[Queue, Queue], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = pair
    monkeypatch.setattr(queue, "WITHOUT_S", 0.0)
    enter(one)
    enter(other)
    one.leave()
    enter(other)
    with pytest.raises(TimeoutError):
        _must_wait(one)


def _must_wait(waiting: Queue) -> None:
    if enter(waiting, within_s=0.05) >= 0.05:
        raise TimeoutError


def test_a_deadline_and_an_end_are_heeded(pair: tuple[Queue, Queue]) -> None:
    one, other = pair
    enter(one)
    assert enter(other, within_s=0.05) < queue.TURN_MAX_S
    over = threading.Event()
    over.set()
    assert enter(Queue(other._path), abandoned=over) < queue.TURN_MAX_S


def test_where_there_can_be_no_file_there_is_no_queue(tmp_path: Path) -> None:
    nowhere = Queue(str(tmp_path / "gone" / "queue"))
    assert sum(enter(nowhere) for _ in range(100)) < queue.TURN_MAX_S
    nowhere.leave()
    nowhere.close()


def test_on_a_file_system_without_such_locks_nobody_waits(
    pair: tuple[Queue, Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    for each in pair:
        assert enter(each) < queue.TURN_MAX_S
        each.leave()


def test_the_file_is_the_owners_alone(pair: tuple[Queue, Queue]) -> None:
    enter(pair[0])
    assert Path(pair[0]._path).stat().st_mode & 0o777 == 0o600
