"""Which state a read shows: the decision tables of list (2.3) and watch (2.6), as pure functions."""

from dataclasses import dataclass

from kinepy_server.errors import bad_request, raw_error
from kinepy_server.read.continue_token import ContinueToken, decode_token
from kinepy_server.read.options import (
    EXACT,
    BadNumber,
    ListOptions,
    bad_list_revision,
    invalid_revision,
    parse_revision,
)

ANY = "0"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state to read: exactly at a revision, or any not older than one, or (`consistent`) the newest."""

    exactly: int | None = None
    not_older: int | None = None
    consistent: bool = False


@dataclass(frozen=True, slots=True)
class ListPlan:
    """What a list reads: a snapshot, from which key on, and at most how many objects."""

    snapshot: Snapshot
    limit: int | None
    token: ContinueToken | None = None


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """How a watch begins.

    With `initial`, the objects of that snapshot come first, closed by a bookmark if `end_bookmark`.
    Without, events follow after the revision `after`; None means after the newest one.
    """

    initial: Snapshot | None
    after: int | None
    end_bookmark: bool
    consistent: bool


NEWEST = Snapshot(consistent=True)


def plan_list(options: ListOptions) -> ListPlan:
    """Apply the decision table of list. Raises the 400 of a bad token or resourceVersion."""
    if options.continue_token:
        return _plan_page(options)
    text, match = options.resource_version, options.match
    if not text:
        return ListPlan(NEWEST, options.limit)
    try:
        revision = parse_revision(text)
    except BadNumber as error:
        raise bad_list_revision(text, error) from None
    if match == EXACT or (not match and revision and options.limit is not None):
        return ListPlan(Snapshot(exactly=revision), options.limit)
    # At "any" revision the limit does not count, as in the original: there is no snapshot to go on in.
    return ListPlan(Snapshot(not_older=revision), options.limit if revision else None)


def _plan_page(options: ListOptions) -> ListPlan:
    token = decode_token(options.continue_token)
    if options.resource_version not in ("", ANY):
        raise bad_request("specifying resource version is not allowed when using continue")
    snapshot = NEWEST if token.revision is None else Snapshot(exactly=token.revision)
    return ListPlan(snapshot, options.limit, token)


def plan_watch(options: ListOptions) -> WatchPlan:
    """Apply the start table of watch. Raises the 500 of a bad resourceVersion."""
    asked, revision = options.send_initial_events, watched_revision(options.resource_version)
    end_bookmark = bool(asked) and options.bookmarks
    if asked or (asked is None and not revision):
        snapshot = NEWEST if revision is None else Snapshot(not_older=revision)
        return WatchPlan(snapshot, None, end_bookmark, snapshot.consistent)
    return WatchPlan(None, revision or None, False, revision is None)


def watched_revision(text: str) -> int | None:
    """The resourceVersion of a get or watch; None when it is absent. Raises the 500 of one that is no number."""
    if not text:
        return None
    try:
        return parse_revision(text)
    except BadNumber as error:
        raise raw_error(invalid_revision(text, error)) from None
