"""Events live for a while after their last write (DEL-10).

When an event was last written is told by its revision: the log keeps the time of every revision. So nothing
of an event needs to be read, and a restart changes nothing. Each event goes by a conditional delete of its
own, in a revision of its own: exactly once, and not when it was written in the meantime.
"""

import asyncio
from collections.abc import Iterable, Sequence

from kinepy import Event, EventType, KeyRange, KeyValue, Revision
from kinepy.errors import KeyNotFound, RevisionConflict
from kinepy_server.context import Context
from kinepy_server.controllers.feed import Feed

NAME = "events"
ACTOR = "kinepy event-expiry"
AT_ONCE = 64
CHECKS_PER_TTL = 60
CHECK_MIN_S, CHECK_MAX_S = 0.05, 30.0


async def expire_events(context: Context) -> None:
    """Delete events `event_ttl_s` after their last write; runs until cancelled."""
    events = context.registry.lookup("", "v1", "events")
    assert events is not None, "events are always served"
    ttl_s = context.settings.event_ttl_s
    pause_s = min(max(ttl_s / CHECKS_PER_TTL, CHECK_MIN_S), CHECK_MAX_S)
    known = KnownEvents()
    async with Feed(context.store, KeyRange.prefix(events.list_prefix(""))) as feed:
        existing = [kv async for page in feed.existing(keys_only=True) for kv in page]
        known.start(existing)
        clock = context.clock
        due = clock.monotonic()
        while True:
            known.apply(await feed.changes(timeout_s=max(due - clock.monotonic(), 0)))
            if clock.monotonic() < due:
                continue
            newest_old = await context.store.revision_before(age_s=ttl_s)
            old = known.take(newest_old) if newest_old is not None else []
            for start in range(0, len(old), AT_ONCE):
                await asyncio.gather(*(_delete(context, *one) for one in old[start : start + AT_ONCE]))
            context.controllers.pending[NAME] = len(known)
            due = clock.monotonic() + pause_s


async def _delete(context: Context, key: bytes, revision: Revision) -> None:
    try:
        await context.store.delete(key, expect=revision, actor=ACTOR)
    except (KeyNotFound, RevisionConflict):
        # It is gone, or was written again; then it comes as a change.
        return
    context.controllers.did(NAME, "delete")


class KnownEvents:
    """The live events by the revision of their last write, oldest first. Pure."""

    def __init__(self) -> None:
        self._revisions: dict[bytes, Revision] = {}

    def __len__(self) -> int:
        return len(self._revisions)

    def start(self, existing: Iterable[KeyValue]) -> None:
        """The events that are there at first."""
        ordered = sorted(existing, key=lambda kv: kv.mod_revision)
        self._revisions = {kv.key: kv.mod_revision for kv in ordered}

    def apply(self, changes: Sequence[Event]) -> None:
        """What has changed, in order; what is older than what is known was known already."""
        revisions = self._revisions
        for change in changes:
            key = change.kv.key
            if change.revision <= revisions.get(key, 0):
                continue
            # Put in anew, so that the order stays that of the revisions.
            revisions.pop(key, None)
            if change.type is EventType.PUT:
                revisions[key] = change.revision

    def take(self, upto: Revision) -> list[tuple[bytes, Revision]]:
        """The events last written at or before a revision; they are known no more."""
        taken = []
        for key, revision in self._revisions.items():
            if revision > upto:
                break
            taken.append((key, revision))
        for key, _ in taken:
            del self._revisions[key]
        return taken
