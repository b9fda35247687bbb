"""Watching a collection (2.6, 2.7): the present state if asked for, then every change, once, in order."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Self

from kinepy import Revision, Watch, WatchBatch
from kinepy.errors import Compacted, KinepyError, StoreClosed, WatchOverflow
from kinepy_server.context import Context
from kinepy_server.ending import Ending
from kinepy_server.errors import StatusError, expired
from kinepy_server.library_errors import translate
from kinepy_server.objects.conversion import prepare
from kinepy_server.read.bookmarks import Schedule
from kinepy_server.read.lines import BOOKMARK, ERROR, LineEncoder
from kinepy_server.read.options import ListOptions, parse_options
from kinepy_server.read.page import Scan, arrive
from kinepy_server.read.plan import WatchPlan, plan_watch
from kinepy_server.read.selectors.selection import Selection, compile_selection
from kinepy_server.read.shown import watch_view
from kinepy_server.read.view import View
from kinepy_server.request import Request
from kinepy_server.resources.resource import Resource
from kinepy_server.response import StreamResponse


async def handle_watch(context: Context, request: Request, resource: Resource) -> StreamResponse:
    """A stream of events. What is wrong with the request is refused before it; later errors are its last event."""
    view, accepted = watch_view(context, request, resource)
    options = parse_options(request, watch=True)
    selection = compile_selection(
        resource, request.namespace, labels=options.labels, fields=options.fields, name=request.name
    )
    plan = plan_watch(options)
    if view is None:
        return StreamResponse(200, _Nothing(), accepted.stream_type)
    stream = _Stream(context, view, selection, options=options, plan=plan, resource=resource)
    await stream.open()
    return StreamResponse(200, stream.chunks(request.leave), accepted.stream_type)


class _Nothing:
    """A stream that ends at once, as the original's does when its events cannot be shown."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Nothing is held."""


class _Stream:
    """One watch, from its plan to its end."""

    def __init__(
        self,
        context: Context,
        view: View,
        selection: Selection,
        *,
        options: ListOptions,
        plan: WatchPlan,
        resource: Resource,
    ) -> None:
        self._context, self._view, self._plan = context, view, plan
        self._resource = resource
        self._range = selection.range
        self._encoder = LineEncoder(view, selection.matches, context.lines)
        self._schedule = _schedule(context, options)
        self._ending = resource.shape.ending if resource.shape is not None else None
        self._watch: Watch | None = None
        self._told = plan.after or 0
        """The client knows everything up to here: no bookmark may say less."""

    async def open(self) -> None:
        """Subscribe, if there is no first state: what happens after the answer's headers must be seen."""
        plan, store = self._plan, self._context.store
        if plan.initial is not None:
            return
        after = plan.after
        if after is None:
            after = await store.current_revision() if plan.consistent else store.applied_revision
        self._subscribe(after)

    def _subscribe(self, after: int) -> Watch:
        self._watch = self._context.store.watch(self._range, start=Revision(after + 1))
        self._told = max(self._told, after)
        return self._watch

    async def chunks(self, started: Callable[[], None]) -> AsyncIterator[bytes]:
        """The stream. It ends cleanly, without a word, at its time, when the reader is too slow, at shutdown.

        `started` is called when the present state was told.
        """
        try:
            if self._plan.initial is not None:
                await arrive(self._context, self._plan.initial)
                scan = Scan(self._context, self._plan.initial, self._range)
                while (rows := await scan.next()) is not None:
                    await prepare(self._resource, rows)
                    if lines := self._encoder.initial(rows):
                        yield lines
                self._subscribe(scan.revision)
                if self._plan.end_bookmark:
                    yield self._bookmark(scan.revision, initial_end=True)
            started()
            self._schedule.start(self._context.clock.monotonic())
            while (chunk := await self._next()) is not None:
                if chunk:
                    yield chunk
        except (WatchOverflow, StoreClosed) as error:
            self._note(error)
        except (StatusError, KinepyError) as error:
            yield self._view.event(ERROR, self._view.status(_last_words(error)))
        finally:
            if self._watch is not None:
                await self._watch.aclose()

    def _note(self, end: KinepyError) -> None:
        if isinstance(end, WatchOverflow):
            self._context.slow_watches[self._resource.group, self._resource.plural] += 1

    async def _next(self) -> bytes | None:
        """What is pending: lines, or a bookmark when it is time, or nothing; None at the end."""
        watch, schedule, clock = self._watch, self._schedule, self._context.clock
        assert watch is not None, "live events need the subscription"
        if schedule.ended(now := clock.monotonic()):
            return None
        if schedule.take_bookmark(now):
            return self._bookmark(watch.progress, initial_end=False) if watch.progress >= self._told else b""
        ending = self._ending
        if ending is None:
            batch = await watch.next(timeout_s=schedule.wait_s(now))
        elif not ending.come:
            batch = await self._next_until(ending, schedule.wait_s(now))
        else:
            # What happened before the end is told.
            batch = await watch.next(timeout_s=0)
            if batch is None:
                return None
        if batch is None:
            return b""
        if self._resource.converter is not None:
            events = batch.events
            # What was told of the previous states is not told anew when the webhook converts otherwise.
            before = [event.previous for event in events]
            await prepare(self._resource, [event.kv for event in events], lasting=before)
        return self._encoder.lines(batch.events)

    async def _next_until(self, ending: Ending, timeout_s: float) -> WatchBatch | None:
        assert self._watch is not None
        try:
            async with asyncio.timeout(None) as scope:
                with ending.ends(scope):
                    return await self._watch.next(timeout_s=timeout_s)
        except TimeoutError:
            if not scope.expired():
                raise
            return None

    def _bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        self._told = revision
        return self._view.event(BOOKMARK, self._view.bookmark(revision, initial_end=initial_end))


def _schedule(context: Context, options: ListOptions) -> Schedule:
    settings = context.settings
    # Random, so that watches opened together do not all come back together.
    shortest = settings.watch_timeout_min_s
    length_s = options.timeout_s or context.random.uniform(shortest, 2 * shortest)
    end = context.clock.monotonic() + length_s
    return Schedule(end, settings.bookmark_interval_s if options.bookmarks else None)


def _last_words(error: StatusError | KinepyError) -> StatusError:
    """What the last event of a stream says of the error that ends it."""
    if isinstance(error, StatusError):
        # Of an object that cannot be shown.
        return error
    if not isinstance(error, Compacted):
        return translate(error)
    # The store names its first event that is wanted, and the first it has; clients name the one before.
    return expired(f"too old resource version: {error.requested - 1} ({error.compacted - 1})")
