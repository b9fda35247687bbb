"""Errors: Status bodies in the original's form, and every error of the library translated."""

import orjson
import pytest

from kinepy import KeyValue, Revision
from kinepy import errors as library
from kinepy_server import errors
from kinepy_server.errors import Cause, StatusError, invalid, status_body
from kinepy_server.library_errors import TABLE, translate
from kinepy_server.warnings import warning_headers
from tests.http.reading import resource

KV = KeyValue(b"k", b"", Revision(2), Revision(2), 1)


def leaves(kind: type[library.KinepyError]) -> set[type[library.KinepyError]]:
    """What users of the library may catch; a driver's own kinds count as what they are made from."""
    below = [each for each in kind.__subclasses__() if each.__module__ == library.__name__]
    return set().union(*map(leaves, below)) if below else {kind}


def test_every_library_error_has_its_status() -> None:
    assert leaves(library.KinepyError) <= set(TABLE)


@pytest.mark.parametrize(
    ("error", "code", "retry_after"),
    [
        (library.KeyExists(key=b"k", current=KV), 409, None),
        (library.KeyNotFound(key=b"k", revision=Revision(2)), 404, None),
        (library.RevisionConflict(key=b"k", expected=Revision(1), current=KV), 409, None),
        (library.Compacted(requested=Revision(1), compacted=Revision(2)), 410, None),
        (library.RevisionInFuture(requested=Revision(9), current=Revision(2)), 504, 1),
        (library.ValueTooLarge(key=b"k", size_bytes=9, value_bytes_max=8), 413, None),
        (library.Overloaded(what="write_queue_max", limit=1), 429, 1),
        (library.StorageUnavailable("gone"), 503, 1),
        (library.WriteOutcomeUnknown("cut"), 504, None),
        (library.StoreClosed(), 503, 1),
    ],
)
def test_clients_may_repeat_only_what_was_surely_not_done(
    error: library.KinepyError, code: int, retry_after: int | None
) -> None:
    status = translate(error)
    assert (status.code, status.retry_after_s) == (code, retry_after)


def test_several_causes_are_listed_in_brackets_and_repeated_ones_told_once() -> None:
    one, two = (
        Cause("FieldValueRequired", "Required value", "a"),
        Cause("FieldValueRequired", "Required value", "b"),
    )
    assert invalid("K", "g", "n", causes=[one]).message == 'K.g "n" is invalid: a: Required value'
    error = invalid("K", "g", "n", causes=[one, two, one])
    assert error.message == 'K.g "n" is invalid: [a: Required value, b: Required value]'
    assert error.details is not None
    assert len(error.details["causes"]) == 3


def test_a_status_body_is_the_originals_letter_by_letter() -> None:
    body = status_body(errors.not_found(resource("leases", "coordination.k8s.io"), "a<b"))
    assert body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        b'"message":"leases.coordination.k8s.io \\"a\\u003cb\\" not found","reason":"NotFound",'
        b'"details":{"name":"a\\u003cb","group":"coordination.k8s.io","kind":"leases"},"code":404}'
    )


def test_a_delay_is_told_in_the_details() -> None:
    assert orjson.loads(status_body(errors.unavailable("x")))["details"] == {"retryAfterSeconds": 1}


def test_an_empty_reason_is_left_out() -> None:
    assert "reason" not in orjson.loads(status_body(StatusError(500, "", "raw")))


def test_warnings_are_quoted_and_told_once() -> None:
    assert warning_headers(['say "a\\b"\n', 'say "a\\b"\n']) == [b'299 - "say \\"a\\\\b\\" "']


def test_warnings_are_bounded() -> None:
    headers = warning_headers([f"{n:04d}" + "x" * 400 for n in range(100)])
    assert all(len(header) <= 256 + len('299 - ""') for header in headers)
    assert sum(len(header) - len('299 - ""') for header in headers) <= 4096
