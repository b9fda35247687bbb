"""Changing a stored object under optimistic concurrency: read, decide, compare and write, again.

What a write makes of the stored object is decided by a pure function; the loop here only makes sure that
the decision was taken on the newest state.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from kinepy import KeyValue, Revision, Store
from kinepy.errors import KeyExists, KeyNotFound, RevisionConflict
from kinepy_server.errors import StatusError


@dataclass(slots=True)
class Write:
    """The object gets this value. One that equals the stored value changes nothing."""

    value: bytes


@dataclass(slots=True)
class Remove:
    """The object goes; `value` is how the answer shows it."""

    value: bytes


@dataclass(slots=True)
class Keep:
    """Nothing changes."""


Decision: TypeAlias = Write | Remove | Keep
Decide: TypeAlias = Callable[[KeyValue | None], Decision]
"""What to make of the stored object (None: there is none). Raises the StatusError of a refusal."""


@dataclass(slots=True)
class Outcome:
    """What came of it. `kv` is the object as the answer shows it; after a removal with the removal's revision."""

    kv: KeyValue
    created: bool = False
    removed: bool = False


async def change(
    store: Store,
    key: bytes,
    decide: Decide,
    *,
    actor: str,
    dry_run: bool = False,
    before_create: Callable[[], Awaitable[None]] | None = None,
) -> Outcome:
    """Decide and write until the decision holds for the newest state.

    The first try takes what this process knows. A refusal, or a decision to change nothing, counts only
    when the state was the newest one. The loop ends with the request's time at the latest.
    """
    kv = await store.get(key, consistent=False)
    newest = False
    while True:
        if kv is None and before_create is not None:
            await before_create()
        try:
            decision: Decision = decide(kv)
        except StatusError:
            if newest:
                raise
            decision = Keep()
        if not newest and (dry_run or _changes_nothing(decision, kv)):
            known, kv, newest = kv, await store.get(key), True
            if _same(known, kv) and not isinstance(decision, Keep):
                return _unwritten(decision, kv)
            continue
        if dry_run or _changes_nothing(decision, kv):
            return _unwritten(decision, kv)
        try:
            return await _write(store, key, decision, kv=kv, actor=actor)
        except (KeyExists, RevisionConflict) as error:
            kv = error.current
        except KeyNotFound:
            kv = None
        newest = True


def _changes_nothing(decision: Decision, kv: KeyValue | None) -> bool:
    return isinstance(decision, Keep) or (
        isinstance(decision, Write) and kv is not None and decision.value == kv.value
    )


def _same(known: KeyValue | None, newer: KeyValue | None) -> bool:
    if known is None or newer is None:
        return known is newer
    return known.mod_revision == newer.mod_revision


def _unwritten(decision: Decision, kv: KeyValue | None) -> Outcome:
    removed = isinstance(decision, Remove)
    if isinstance(decision, Keep) or (kv is not None and decision.value == kv.value):
        assert kv is not None, "a missing object is never kept"
        return Outcome(kv, removed=removed)
    shown = KeyValue(b"", decision.value, Revision(0), Revision(0), 0)
    if kv is not None:
        shown.key, shown.create_revision = kv.key, kv.create_revision
        shown.mod_revision, shown.version = kv.mod_revision, kv.version
    return Outcome(shown, created=kv is None, removed=removed)


async def _write(store: Store, key: bytes, decision: Decision, *, kv: KeyValue | None, actor: str) -> Outcome:
    assert not isinstance(decision, Keep)
    if kv is None:
        return Outcome(await store.create(key, decision.value, actor=actor), created=True)
    if isinstance(decision, Write):
        return Outcome(await store.update(key, decision.value, expect=kv.mod_revision, actor=actor))
    result = await store.delete(key, expect=kv.mod_revision, actor=actor)
    shown = KeyValue(key, decision.value, kv.create_revision, result.revision, kv.version)
    return Outcome(shown, removed=True)
