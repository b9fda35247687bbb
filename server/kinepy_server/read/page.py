"""Reading one page of a collection from the store, in one snapshot."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kinepy import KeyRange, KeyValue, Revision
from kinepy.errors import Compacted, RevisionInFuture
from kinepy_server.context import Context
from kinepy_server.errors import StatusError, expired, revision_in_future
from kinepy_server.objects.conversion import prepare
from kinepy_server.read.continue_token import ContinueToken, encode_token
from kinepy_server.read.plan import ListPlan, Snapshot
from kinepy_server.read.selectors.selection import Selection
from kinepy_server.resources.resource import Resource

PAGE_SHARE: Final = 8
"""A page ends early when it has this part of the bytes of all answers at once: its client reads on."""

TOO_OLD = "The resourceVersion for the provided list is too old."
TOKEN_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list"
    " without the continue parameter, or use the continue token in this response to retrieve the remainder of"
    " the results. Continuing with the provided token results in an inconsistent list - objects that were"
    " created, modified, or deleted between the time the first chunk was returned and now may show up in the"
    " list."
)


@dataclass(frozen=True, slots=True)
class Page:
    """Objects at one revision. `last` is the key after which the list goes on; None at its end.

    `remaining` counts the objects that follow, at that revision; None when a selector makes it unknown.
    """

    revision: Revision
    items: Sequence[KeyValue]
    last: bytes | None
    remaining: int | None


async def read_page(
    context: Context, plan: ListPlan, prefix: bytes, *, selection: Selection, resource: Resource
) -> Page:
    """Read the page that the plan asks for. Raises the 410 and the 504 of revisions that cannot be read."""
    try:
        return await _read(context, plan, prefix, selection=selection, resource=resource)
    except Compacted:
        raise _expired(plan) from None
    except RevisionInFuture as error:
        raise revision_in_future(error.requested, error.current) from None


async def _read(
    context: Context, plan: ListPlan, prefix: bytes, *, selection: Selection, resource: Resource
) -> Page:
    await arrive(context, plan.snapshot)
    scanned = selection.range
    if plan.token is not None:
        # A token goes on where its list stood; a selector of another list does not move that.
        scanned = KeyRange(max(scanned.start, prefix + plan.token.start), scanned.end)
    if selection.matches is None:
        return await _read_all(context, plan, scanned, counted=not selection.selective)
    return await _read_matching(context, plan, scanned, selection=selection, resource=resource)


async def _read_all(context: Context, plan: ListPlan, scanned: KeyRange, *, counted: bool) -> Page:
    snapshot = plan.snapshot
    at = None if snapshot.exactly is None else Revision(snapshot.exactly)
    result = await context.store.range(
        scanned,
        at=at,
        limit=plan.limit,
        bytes_max=_page_bytes_max(context, plan),
        consistent=snapshot.consistent,
    )
    items = result.items
    if not result.more or not items:
        return Page(result.revision, items, None, None)
    return Page(result.revision, items, items[-1].key, result.total - len(items) if counted else None)


async def _read_matching(
    context: Context, plan: ListPlan, scanned: KeyRange, *, selection: Selection, resource: Resource
) -> Page:
    matches, limit = selection.matches, plan.limit
    assert matches is not None, "what matches everything is read at once"
    found: list[KeyValue] = []
    room = _page_bytes_max(context, plan) or math.inf
    scan = Scan(context, plan.snapshot, scanned)
    while (rows := await scan.next()) is not None:
        await prepare(resource, rows)
        for position, kv in enumerate(rows):
            if matches(kv):
                found.append(kv)
                room -= len(kv.value)
                if len(found) == limit or room <= 0:
                    follows = scan.more or position + 1 < len(rows)
                    return Page(scan.revision, found, kv.key if follows else None, None)
    return Page(scan.revision, found, None, None)


def _page_bytes_max(context: Context, plan: ListPlan) -> int | None:
    """How large a page may become; None for a client that did not ask for pages, and would not read on."""
    return None if plan.limit is None else max(1, context.settings.answers_bytes_max // PAGE_SHARE)


class Scan:
    """A walk through a range in bounded pages of one snapshot, for which `arrive` has been waited.

    `revision` and `more` (rows follow) are known after the first page.
    """

    def __init__(self, context: Context, snapshot: Snapshot, scanned: KeyRange) -> None:
        self.revision = Revision(0)
        self.more = True
        self._store, self._limit = context.store, context.settings.scan_page_rows
        self._bytes_max = context.settings.scan_page_bytes
        self._rest, self._consistent = scanned, snapshot.consistent
        self._at = None if snapshot.exactly is None else Revision(snapshot.exactly)

    async def next(self) -> Sequence[KeyValue] | None:
        """The next page's rows; None at the end. There is at least one page."""
        if not self.more:
            return None
        if self.revision:
            await asyncio.sleep(0)  # a page from memory does not wait; others shall have their turn
        result = await self._store.range(
            self._rest,
            at=self._at,
            limit=self._limit,
            bytes_max=self._bytes_max,
            consistent=self._consistent,
        )
        self._at = self.revision = result.revision
        self.more = result.more and bool(result.items)
        if self.more:
            self._rest = self._rest.after(result.items[-1].key)
        return result.items


async def arrive(context: Context, snapshot: Snapshot) -> None:
    """Wait until the store has reached the snapshot's revision. Raises `RevisionInFuture`."""
    wanted = snapshot.exactly or snapshot.not_older or 0
    if wanted > context.store.applied_revision:
        await context.store.wait_for(Revision(wanted), timeout_s=context.settings.future_revision_wait_s)


def _expired(plan: ListPlan) -> StatusError:
    if plan.token is None:
        return expired(TOO_OLD)
    token = encode_token(ContinueToken(None, plan.token.start))
    return expired(TOKEN_TOO_OLD, continue_token=token)


def next_token(page: Page, prefix: bytes) -> str:
    """The token that continues after a page; empty at the end of the list."""
    if page.last is None:
        return ""
    return encode_token(ContinueToken(page.revision, page.last[len(prefix) :] + b"\x00"))
