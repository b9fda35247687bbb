"""The verdict at the end, when nothing fails any more: everybody agrees, and nothing promised is gone."""

from collections.abc import Mapping, Sequence, Set

from kinepy import KeyRange, KeyValue, RangeResult, Revision
from kinepy.drivers.base import Driver, LogRow, ReadTransaction
from kinepy.retention import Retention, rule_for
from tests.simulation.cluster import Node
from tests.simulation.floors import floor_of_key, owner_of, parts
from tests.simulation.mirrors import MirrorHolder
from tests.simulation.reference import Reference, State, within
from tests.simulation.watchers import Watcher


def p8_leases(reference: Reference, revoked: Set[int]) -> None:
    """The keys of a lease die in the transaction that ends it, and in one revision; not before its time."""
    attached: dict[int, set[bytes]] = {}
    standing: dict[int, int] = {}
    for index, commit in enumerate(reference.commits):
        if index in reference.branches:
            leases, state = reference.branches[index]
            standing = {lease.id: lease.expires_at for lease in leases.values()}
            attached = _attached(state)
        standing.update((lease.id, lease.expires_at) for lease in commit.leases)
        _attach(attached, commit.rows)
        for gone in commit.leases_gone:
            if left := attached.pop(gone, None):
                reference.broken("P8 leases", f"lease {gone} ended without {sorted(left)}")
            if gone not in standing:
                reference.broken("P8 leases", f"lease {gone} was ended twice")
            early_us = standing.pop(gone, 0) - commit.now_us
            if gone not in revoked and early_us > 0:
                reference.broken("P8 leases", f"lease {gone} was ended {early_us} µs early")
        _check_lease_deletes(reference, commit.rows, set(commit.leases_gone))


def _attach(attached: dict[int, set[bytes]], rows: Sequence[LogRow]) -> None:
    for row in rows:
        for keys in attached.values():
            keys.discard(row.key)
        if row.value is not None and row.lease is not None:
            attached.setdefault(row.lease, set()).add(row.key)


def _attached(state: State) -> dict[int, set[bytes]]:
    attached: dict[int, set[bytes]] = {}
    for kv in state.values():
        if kv.lease is not None:
            attached.setdefault(kv.lease, set()).add(kv.key)
    return attached


def _check_lease_deletes(reference: Reference, rows: Sequence[LogRow], ended: set[int]) -> None:
    revisions: dict[int, set[Revision]] = {}
    for row in rows:
        if row.value is not None or row.actor is not None:
            continue
        before = reference.states.get(Revision(row.revision - 1), {}).get(row.key)
        lease = None if before is None else before.lease
        if lease is None or lease not in ended:
            reference.broken("P8 leases", f"revision {row.revision} deletes {row.key!r} in no lease's name")
        else:
            revisions.setdefault(lease, set()).add(row.revision)
    for lease, several in revisions.items():
        if len(several) > 1:
            reference.broken("P8 leases", f"keys of lease {lease} died in several revisions: {several}")


def p8_none_left(reference: Reference) -> None:
    """When all time has run out no lease is left, and no key of one."""
    if reference.leases:
        reference.broken("P8 leases", f"leases outlive their time: {reference.leases}")
    held = [kv for kv in reference.states[reference.newest].values() if kv.lease is not None]
    if held:
        reference.broken("P8 leases", f"keys outlive their lease: {held}")


def followed(reference: Reference, node: Node, newest: Revision) -> None:
    """A while after the last fault a node has applied what had been committed then, without being asked for it."""
    applied = node.sync(lambda store: store.applied_revision)
    if applied < newest:
        reference.broken("P11 many writers", f"{node.identity} stays at {applied}, the store was at {newest}")


def converged(
    reference: Reference, watchers: Sequence[Watcher | MirrorHolder], reads: Sequence[object]
) -> None:
    """Every watcher has seen everything, and every node reads the same state."""
    for watcher in watchers:
        if (watcher.reached or 0) < reference.newest:
            reference.broken(
                "P6 watch reliable",
                f"{watcher.name} stays at {watcher.reached}, the store at {reference.newest}",
            )
        if watcher.reached is not None and reference.is_lost(watcher.reached):
            reference.broken(
                "P12 restore", f"{watcher.name} still believes in {watcher.reached}, which is lost"
            )
    for read in reads:
        if not isinstance(read, RangeResult) or read.revision != reference.newest:
            reference.broken(
                "P11 many writers", f"a node reads {read}, the store stands at {reference.newest}"
            )


def p7_floors(reference: Reference, rules: Mapping[bytes, Retention], *, by_hand: int | None) -> None:
    """The floor of a prefix that is kept for ever stays. Others rise only over what was replaced or deleted under their
    prefix, unless somebody compacts by hand, after so many transactions."""
    for commit, prefix, before, after in reference.rises:
        rise = f"the floor of {prefix!r} rose from {before} to {after}"
        if rule_for(rules, prefix).forever:
            reference.broken("P7 retention", f"{rise}, but it is kept for ever")
        elif (by_hand is None or commit < by_hand) and not _superseded(reference, prefix, after):
            reference.broken("P7 retention", f"{rise}, over nothing that was replaced or deleted there")


def _superseded(reference: Reference, prefix: bytes, floor: Revision) -> bool:
    """Whether the change right below a floor replaced or deleted a key that has it."""
    return any(
        event.previous is not None and owner_of(reference.floors, event.kv.key) == prefix
        for event in reference.events.get(Revision(floor - 1), ())
    )


async def p7_still_there(reference: Reference, driver: Driver) -> None:
    """Every revision from a key's floor on can be read from the database, and every event from it on be told."""
    async with driver.read() as tx:
        for part in parts(reference.floors, KeyRange.everything()):
            await _check_part(reference, tx, part)
        current = await tx.current()
    if current != reference.newest:
        reference.broken("P2 never again", f"the database stands at {current}, not at {reference.newest}")


async def _check_part(reference: Reference, tx: ReadTransaction, part: KeyRange) -> None:
    floor = floor_of_key(reference.floors, part.start)
    kept = sorted(each for each in reference.states if floor <= each <= reference.newest)
    for revision in kept:
        if reference.is_lost(revision):
            continue
        rows = await tx.state_at(part, at=revision, limit=None, keys_only=False)
        if list(_state_of(rows).values()) != within(reference.states[revision], part):
            reference.broken("P7 compaction", f"revision {revision}, floor {floor} of {part}, is now {rows}")
    after = Revision(floor - 1)
    history = await tx.history(part, after=after, upto=reference.newest, limit=10_000)
    found = [(each.row.revision, each.row.key, each.previous and each.previous.revision) for each in history]
    owed = [
        (event.revision, event.kv.key, event.previous and event.previous.mod_revision)
        for event in reference.between(after, reference.newest, part)
    ]
    if found != owed:
        reference.broken("P7 compaction", f"events of {part} from {floor} on are {found}, should be {owed}")


async def p7_nothing_left(reference: Reference, driver: Driver) -> None:
    """After a compaction to the newest revision the log holds of the keys whose floor that is only what is live, the
    newest row and its predecessor."""
    newest = reference.newest
    needed = {kv.mod_revision for kv in reference.states[newest].values()} | {newest}
    needed |= {event.previous.mod_revision for event in reference.events.get(newest, ()) if event.previous}
    async with driver.read() as tx:
        rows = await tx.history(KeyRange.everything(), after=Revision(0), upto=newest, limit=10_000)
    # The newest row stays even where an epoch, whose base has none, began after it.
    needed.add(rows[-1].row.revision if rows else newest)
    left = [
        each.row
        for each in rows
        if each.row.revision not in needed and floor_of_key(reference.floors, each.row.key) == newest
    ]
    if left:
        reference.broken("P7 compaction", f"compacted to {newest}, but the log still holds {left}")


def _state_of(rows: Sequence[LogRow]) -> State:
    return {
        row.key: KeyValue(
            row.key, row.value or b"", row.create_revision, row.revision, row.version, row.lease
        )
        for row in rows
    }
