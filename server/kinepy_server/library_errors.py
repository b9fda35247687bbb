"""The one table from the library's errors to HTTP.

Handlers turn `KeyExists`, `KeyNotFound` and `RevisionConflict` into the Status that names their object;
what they let through lands here. A Retry-After is sent only where surely nothing was done, because clients
repeat the request when they see it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kinepy import errors as library
from kinepy_server.errors import (
    StatusError,
    expired,
    internal_error,
    raw_error,
    revision_in_future,
    timeout,
    too_many_requests,
    unavailable,
)

_STALE = "the object has been modified; please apply your changes to the latest version and try again"


def _text(error: library.KinepyError) -> str:
    return str(error)


TABLE: Mapping[type[library.KinepyError], Callable[[Any], StatusError]] = {
    library.KeyExists: lambda e: StatusError(409, "AlreadyExists", _text(e), details={}),
    library.KeyNotFound: lambda e: StatusError(404, "NotFound", _text(e), details={}),
    library.RevisionConflict: lambda e: StatusError(
        409, "Conflict", f"Operation cannot be fulfilled: {_STALE}", details={}
    ),
    library.GuardFailed: lambda e: StatusError(
        409, "Conflict", f"Operation cannot be fulfilled: {_STALE}", details={}
    ),
    library.Compacted: lambda e: expired("The resourceVersion for the provided list is too old."),
    library.RevisionInFuture: lambda e: revision_in_future(e.requested, e.current),
    library.LeaseNotFound: lambda e: internal_error(_text(e)),
    library.LeaseExists: lambda e: internal_error(_text(e)),
    library.InvalidKey: lambda e: StatusError(400, "BadRequest", _text(e)),
    library.ValueTooLarge: lambda e: StatusError(
        413, "RequestEntityTooLarge", f"Request entity too large: limit is {e.value_bytes_max}"
    ),
    library.TooManyOperations: lambda e: StatusError(413, "RequestEntityTooLarge", _text(e)),
    library.TransactionTooLarge: lambda e: StatusError(413, "RequestEntityTooLarge", _text(e)),
    library.DuplicateKey: lambda e: internal_error(_text(e)),
    library.Overloaded: lambda e: too_many_requests(),
    library.WatchOverflow: lambda e: expired(_text(e)),
    library.StorageUnavailable: lambda e: unavailable(_text(e)),
    library.WriteOutcomeUnknown: lambda e: timeout(_text(e)),
    library.StorageCorrupt: lambda e: internal_error(_text(e)),
    library.DatabaseUnreachable: lambda e: unavailable(_text(e)),
    library.DatabaseAccessDenied: lambda e: unavailable(_text(e)),
    library.DatabaseReadOnly: lambda e: unavailable(_text(e)),
    library.DatabaseNotKinepy: lambda e: unavailable(_text(e)),
    library.SchemaNewer: lambda e: unavailable(_text(e)),
    library.BadDatabaseUrl: lambda e: unavailable(_text(e)),
    library.StoreClosed: lambda e: unavailable("the server is shutting down"),
}
"""Every leaf of the library's error tree."""


def translate(error: library.KinepyError) -> StatusError:
    """The Status of an error of the library; the nearest ancestor in the table decides."""
    for ancestor in type(error).__mro__:
        builder = TABLE.get(ancestor)
        if builder is not None:
            return builder(error)
    return raw_error(_text(error))
