"""Changing a stored object under optimistic concurrency: read, decide, compare and write, again.

What a write makes of the stored object is decided by a pure function; the loop here only makes sure that
the decision was taken on the newest state.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from kinepy import KeyValue, Revision, Store
from kinepy.errors import GuardFailed, KeyExists, KeyNotFound, RevisionConflict
from kinepy_server.context import Context
from kinepy_server.errors import StatusError
from kinepy_server.objects.conversion import StoredForm, converting, may_need, prepare, stored_form
from kinepy_server.resources.resource import Resource


@dataclass(slots=True)
class Write:
    """The object gets this value. One that equals the stored value changes nothing."""

    value: bytes
    form: StoredForm | None = None
    """The value with how it is shown, where a webhook has converted it."""


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

Finish: TypeAlias = Callable[[bytes], Awaitable[bytes]]
"""Completes the value of an object that is about to be stored."""


@dataclass(frozen=True, slots=True)
class ForOneVersion:
    """A decision that is refused for every version of the object but one: it does not wait for others to be done."""

    decide: Decide

    def __call__(self, kv: KeyValue | None) -> Decision:
        """See `Decide`."""
        return self.decide(kv)


Reviewed: TypeAlias = Callable[[Decision, KeyValue | None], Awaitable[Decision]]
"""What others make of a decision about the stored object. Raises the StatusError of a refusal."""
BeforeCreate: TypeAlias = Callable[[], Awaitable[KeyValue | None]]
"""Called when there is no object. Returns what guards the create; raises the StatusError of a refusal."""


@dataclass(slots=True)
class Outcome:
    """What came of it. `kv` is the object as the answer shows it; after a removal with the removal's revision."""

    kv: KeyValue
    created: bool = False
    removed: bool = False


async def change(
    context: Context,
    key: bytes,
    decide: Decide,
    *,
    actor: str,
    dry_run: bool = False,
    before_create: BeforeCreate | None = None,
    finish: Finish | None = None,
    charge: Finish | None = None,
    review: Reviewed | None = None,
    resource: Resource | None = None,
) -> Outcome:
    """Decide and write until the decision holds for the newest state.

    The first try takes what this process knows. A refusal, or a decision to change nothing, counts only
    when the state was the newest one. The loop ends with the request's time at the latest. Those that try again
    take turns at the key; a `ForOneVersion` does not. `finish` completes what is to be written, `charge` what is
    to be created. Of a `resource` with a conversion webhook all is converted that the decision and the answer need.
    """
    attempt = _Attempt(
        context.store, key, decide, actor, dry_run, before_create, finish, charge, review, resource
    )
    outcome = await (_at_once(attempt) if isinstance(decide, ForOneVersion) else _in_turn(attempt))
    if resource is not None:
        await prepare(resource, (), lasting=(outcome.kv,))
    return outcome


async def _at_once(attempt: "_Attempt") -> Outcome:
    """Try until it is done, whoever else does."""
    outcome = await attempt.run(await attempt.known(), newest=False)
    while not isinstance(outcome, Outcome):
        outcome = await attempt.run(outcome.kv, newest=True)
    return outcome


async def _in_turn(attempt: "_Attempt") -> Outcome:
    """Try until it is done, in turn with others of this process that do the same."""
    turns = attempt.store.turns
    if not turns.is_taken(attempt.key):
        outcome = await attempt.run(await attempt.known(), newest=False)
        if isinstance(outcome, Outcome):
            return outcome
    async with turns.take(attempt.key) as turn:
        outcome = await attempt.run(await attempt.known(), newest=False)
        while not isinstance(outcome, Outcome):
            if outcome.kv is not None:
                await turn.lost(outcome.kv.mod_revision)
            outcome = await attempt.run(await attempt.store.get(attempt.key), newest=True)
        return outcome


@dataclass(slots=True)
class _Lost:
    """Somebody else wrote first; `kv` is the newest state."""

    kv: KeyValue | None


@dataclass(slots=True)
class _Attempt:
    """What is tried, until it succeeds."""

    store: Store
    key: bytes
    decide: Decide
    actor: str
    dry_run: bool
    before_create: BeforeCreate | None
    finish: Finish | None
    charge: Finish | None
    review: Reviewed | None
    resource: Resource | None

    async def known(self) -> KeyValue | None:
        """What this process knows of the object."""
        return await self.store.get(self.key, consistent=False)

    async def run(self, kv: KeyValue | None, *, newest: bool) -> Outcome | _Lost:
        """Decide on a state and write. Raises the refusal, if the state was the newest one."""
        guard = None
        try:
            if kv is None and self.before_create is not None:
                guard = await self.before_create()
            decision = await self._decided(kv)
        except StatusError:
            newer = kv if newest else await self.store.get(self.key)
            if newest or _same(kv, newer):
                raise
            return await self.run(newer, newest=True)
        if self.dry_run or _changes_nothing(decision, kv):
            if newest:
                return self._shown(_unwritten(decision, kv), decision)
            known, kv = kv, await self.store.get(self.key)
            if _same(known, kv):
                return self._shown(_unwritten(decision, kv), decision)
            return await self.run(kv, newest=True)
        try:
            return await self._write(decision, kv, guard=guard)
        except GuardFailed as changed:
            # This read waits until the process knows what the guard was compared with.
            await self.store.get(changed.key)
            return _Lost(kv)
        except (KeyExists, RevisionConflict) as error:
            return _Lost(error.current)
        except KeyNotFound:
            return _Lost(None)

    async def _decided(self, kv: KeyValue | None) -> Decision:
        resource = self.resource
        if resource is None or not may_need(resource):
            return await self._decided_at_once(kv)
        await prepare(resource, (kv,))
        decision = await converting(lambda: self._decided_at_once(kv))
        if isinstance(decision, Write):
            form = await stored_form(resource, decision.value)
            return Write(form.value, form)
        return decision

    async def _decided_at_once(self, kv: KeyValue | None) -> Decision:
        decision = self.decide(kv)
        if self.review is not None:
            decision = await self.review(decision, kv)
        if isinstance(decision, Write):
            if self.finish is not None:
                decision = Write(await self.finish(decision.value))
            if kv is None and self.charge is not None:
                decision = Write(await self.charge(decision.value))
        return decision

    def _shown(self, outcome: Outcome, decision: Decision) -> Outcome:
        if self.resource is not None and isinstance(decision, Write) and decision.form is not None:
            decision.form.keep(self.resource, outcome.kv)
        return outcome

    async def _write(self, decision: Decision, kv: KeyValue | None, *, guard: KeyValue | None) -> Outcome:
        assert not isinstance(decision, Keep)
        store, key, actor = self.store, self.key, self.actor
        if kv is None:
            created = await store.create(key, decision.value, actor=actor, guard=guard)
            return self._shown(Outcome(created, created=True), decision)
        if isinstance(decision, Write):
            updated = await store.update(key, decision.value, expect=kv.mod_revision, actor=actor)
            return self._shown(Outcome(updated), decision)
        result = await store.delete(key, expect=kv.mod_revision, actor=actor)
        shown = KeyValue(key, decision.value, kv.create_revision, result.revision, kv.version)
        if decision.value == kv.value:
            shown.face = kv.face
        return Outcome(shown, removed=True)


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
