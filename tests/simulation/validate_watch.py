"""The verdict on watches: one function for each part of P6, and what compaction, bounds and epochs mean for them."""

from kinepy import Event, Revision
from kinepy.errors import Compacted, WatchOverflow
from tests.simulation.history import Delivery, History, Session
from tests.simulation.reference import Reference


def judge_watches(reference: Reference, history: History) -> None:
    """Run every validator of watches."""
    for session in history.sessions:
        told_to = Revision(session.start - 1)
        for delivery in session.deliveries:
            filtered(reference, session, delivery)
            ordered_and_unique(reference, session, delivery, told_to)
            atomic(reference, session, delivery)
            never_before_commit(reference, session, delivery)
            true_events(reference, session, delivery)
            reliable(reference, session, delivery, told_to)
            one_epoch(reference, session, delivery, told_to)
            bounded(reference, session, delivery)
            told_to = max(told_to, delivery.progress)
        ended_for_a_reason(reference, session)


def _broken(reference: Reference, promise: str, session: Session, text: str) -> None:
    reference.broken(promise, f"{text}; {session}")


def filtered(reference: Reference, session: Session, delivery: Delivery) -> None:
    """Only matching keys."""
    for event in delivery.events:
        if event.kv.key not in session.key_range:
            _broken(reference, "P6 watch filter", session, f"revision {event.revision} of {event.kv.key!r}")
        if event.revision < session.start:
            _broken(reference, "P6 watch filter", session, f"revision {event.revision} is before the start")


def ordered_and_unique(reference: Reference, session: Session, delivery: Delivery, told_to: Revision) -> None:
    """Revisions rise, and nothing that was covered by progress comes again."""
    before = told_to
    for event in delivery.events:
        if event.revision <= told_to:
            _broken(reference, "P6 watch unique", session, f"revision {event.revision} after {told_to}")
        elif event.revision < before:
            _broken(reference, "P6 watch ordered", session, f"revision {event.revision} after {before}")
        before = event.revision


def atomic(reference: Reference, session: Session, delivery: Delivery) -> None:
    """A revision is told whole."""
    told: dict[Revision, list[bytes]] = {}
    for event in delivery.events:
        told.setdefault(event.revision, []).append(event.kv.key)
    for revision, keys in told.items():
        happened = [
            event.kv.key for event in reference.events.get(revision, ()) if event.kv.key in session.key_range
        ]
        if len(keys) < len(happened):
            _broken(reference, "P6 watch atomic", session, f"revision {revision}: {keys} of {happened}")


def never_before_commit(reference: Reference, session: Session, delivery: Delivery) -> None:
    """What is told, and the progress that is claimed, has been committed."""
    last = max([event.revision for event in delivery.events], default=Revision(0))
    if last > delivery.newest:
        _broken(
            reference, "P6 watch", session, f"revision {last} was told when {delivery.newest} was the newest"
        )
    if last > delivery.progress:
        _broken(reference, "P6 watch progress", session, f"progress {delivery.progress} is behind {last}")
    if delivery.progress > delivery.newest and delivery.progress >= session.start:
        _broken(
            reference,
            "P6 watch progress",
            session,
            f"progress {delivery.progress} is ahead of {delivery.newest}",
        )


def true_events(reference: Reference, session: Session, delivery: Delivery) -> None:
    """An event says what happened, and what the key held before."""
    for event in delivery.events:
        happened = [each for each in reference.events.get(event.revision, ()) if each.kv.key == event.kv.key]
        if event not in happened:
            promise = "P6 watch previous" if _same_but_previous(event, happened) else "P6 watch"
            _broken(reference, promise, session, f"{event} is not {happened}")


def _same_but_previous(event: Event, happened: list[Event]) -> bool:
    return any((each.type, each.kv) == (event.type, event.kv) for each in happened)


def reliable(reference: Reference, session: Session, delivery: Delivery, told_to: Revision) -> None:
    """Everything between two progresses was told."""
    owed = reference.between(told_to, delivery.progress, session.key_range)
    told = {(event.revision, event.kv.key) for event in delivery.events}
    missing = [event for event in owed if (event.revision, event.kv.key) not in told]
    for event in missing:
        _broken(
            reference,
            "P6 watch reliable",
            session,
            f"revision {event.revision} of {event.kv.key!r} is missing in ({told_to}, {delivery.progress}]",
        )


def one_epoch(reference: Reference, session: Session, delivery: Delivery, told_to: Revision) -> None:
    """A watch that has told lost revisions does not go on in the next epoch."""
    for base, survived in reference.bases:
        if survived < told_to < base <= delivery.progress and session.deliveries:
            _broken(reference, "P12 restore", session, f"went on from lost {told_to} to {delivery.progress}")


def bounded(reference: Reference, session: Session, delivery: Delivery) -> None:
    """A queue never holds more than its bound and one publication, and comes with at most one page of history."""
    if len(delivery.events) > session.queue_max + 2 * session.publication_max:
        _broken(reference, "P10 bounds", session, f"{len(delivery.events)} events at once")


def ended_for_a_reason(reference: Reference, session: Session) -> None:
    """A watch ends resumable, and is called compacted only below a floor."""
    error, progress = session.ended, session.progress
    if isinstance(error, WatchOverflow):
        skipped = reference.between(progress, Revision(error.resume - 1), session.key_range)
        if skipped:
            _broken(reference, "P6 watch resumable", session, f"resume at {error.resume} skips {skipped}")
    if isinstance(error, Compacted):
        if progress + 1 >= error.compacted:
            _broken(reference, "P7 compaction", session, f"{error} although it stood at {progress}")
        floor = reference.floor_of(session.key_range)
        if error.compacted > floor:
            _broken(reference, "P7 compaction", session, f"{error}, the floor is {floor}")
