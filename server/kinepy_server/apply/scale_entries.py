"""Who owns the number of replicas: entries of an object as its Scale shows them, and back. Pure.

The number stands at the same place in both.
"""

from collections.abc import Iterable

from kinepy_server.apply.field_set import FieldSet, difference
from kinepy_server.apply.managers import Entry, identity, in_order

SCALE_VERSION = "autoscaling/v1"
_REPLICAS: FieldSet = {"f:spec": {"f:replicas": {}}}


def entries_of_scale(entries: Iterable[Entry]) -> list[Entry]:
    """The entries of an object that own the number, as entries of its Scale."""
    return [
        {**entry, "apiVersion": SCALE_VERSION, "fieldsV1": _REPLICAS} for entry in entries if _owns(entry)
    ]


def entries_of_object(of_scale: Iterable[Entry], before: Iterable[Entry], *, api_version: str) -> list[Entry]:
    """The entries of an object after a write of its Scale: who lost the number there loses it here, and who is new
    there gets an entry here."""
    owners = {identity(entry): entry for entry in of_scale if _owns(entry)}
    known, kept = set(), []
    for entry in before:
        who = identity({**entry, "apiVersion": SCALE_VERSION})
        if not _owns(entry):
            kept.append(entry)
        elif who in owners:
            known.add(who)
            kept.append(entry)
        elif rest := difference(entry["fieldsV1"], _REPLICAS):
            kept.append({**entry, "fieldsV1": rest})
    new = [{**entry, "apiVersion": api_version} for who, entry in owners.items() if who not in known]
    return in_order([*kept, *({**entry, "fieldsV1": _REPLICAS} for entry in new)])


def _owns(entry: Entry) -> bool:
    return "f:replicas" in (entry.get("fieldsV1") or {}).get("f:spec", {})
