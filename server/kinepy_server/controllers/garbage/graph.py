"""Who owns whom, in memory, by uid. Pure.

Only objects that have owners, and owners that wait for their dependents, are kept; all other objects cost
nothing but a look for two words in their bytes.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from kinepy import KeyValue
from kinepy_server.objects.metadata import FOREGROUND, ORPHAN

_OWNED, _DYING = b'"ownerReferences":', b'"deletionTimestamp":'


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner reference."""

    uid: str
    api_version: str
    kind: str
    name: str
    blocks: bool
    """blockOwnerDeletion: the owner waits for the dependent when it is deleted in the foreground."""


@dataclass(slots=True)
class Node:
    """An object that has owners, or that waits for its dependents."""

    uid: str
    owners: tuple[Owner, ...]


@dataclass(slots=True)
class _Family:
    """The objects that name one owner, and the ways in which they do: mostly one, which is kept once."""

    keys: set[bytes] = field(default_factory=set)
    references: dict[Owner, Owner] = field(default_factory=dict)


def metadata_of(value: bytes) -> Mapping[str, Any]:
    """The metadata of a stored object; empty when the value is none."""
    try:
        metadata = orjson.loads(value)["metadata"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


def owners_of(metadata: Mapping[str, Any]) -> tuple[Owner, ...]:
    """The owner references of an object."""
    return tuple(
        Owner(
            reference["uid"],
            reference.get("apiVersion", ""),
            reference.get("kind", ""),
            reference.get("name", ""),
            bool(reference.get("blockOwnerDeletion")),
        )
        for reference in metadata.get("ownerReferences") or ()
        if reference.get("uid")
    )


def waits_for(metadata: Mapping[str, Any]) -> str:
    """The finalizer by which a dying object waits for what happens to its dependents; empty when none."""
    if "deletionTimestamp" not in metadata:
        return ""
    finalizers = metadata.get("finalizers") or ()
    return next((one for one in (ORPHAN, FOREGROUND) if one in finalizers), "")


class Graph:
    """The graph as far as it has been told. `note` and `forget` return the keys that are to be looked at."""

    def __init__(self) -> None:
        self._nodes: dict[bytes, Node] = {}
        self._families: dict[str, _Family] = {}
        self._waiting: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def dependents(self, uid: str) -> Collection[bytes]:
        """The keys of the objects that name an owner."""
        family = self._families.get(uid)
        return family.keys if family is not None else ()

    def blocking(self, uid: str) -> bool:
        """Whether a dependent holds up its owner's deletion in the foreground."""
        return any(
            owner.uid == uid and owner.blocks
            for key in self.dependents(uid)
            for owner in self._nodes[key].owners
        )

    def waits(self, key: bytes) -> bool:
        """Whether an object waits for its dependents to be deleted."""
        node = self._nodes.get(key)
        return node is not None and node.uid in self._waiting

    def circular(self, key: bytes) -> bool:
        """Whether an object that waits for its dependents is, through others that wait, one of them itself."""
        node = self._nodes.get(key)
        ahead = list(self._waiting_owners(node))
        seen: set[str] = set()
        while ahead:
            uid = ahead.pop()
            if node is not None and uid == node.uid:
                return True
            if uid not in seen:
                seen.add(uid)
                ahead += self._waiting_owners(self._nodes.get(self._waiting[uid]))
        return False

    def _waiting_owners(self, node: Node | None) -> Iterable[str]:
        owners = node.owners if node is not None else ()
        return [owner.uid for owner in owners if owner.blocks and owner.uid in self._waiting]

    def note(self, kv: KeyValue) -> list[bytes]:
        """An object as it is now."""
        owned, dying = _OWNED in kv.value, _DYING in kv.value
        if not owned and not dying:
            return self._replace(kv.key, None)
        metadata = metadata_of(kv.value)
        owners, finalizer = owners_of(metadata), waits_for(metadata)
        uid = metadata.get("uid", "")
        before = self._nodes.get(kv.key)
        node = Node(uid, owners) if uid and (owners or finalizer) else None
        work = self._replace(kv.key, node)
        if node is None:
            return work
        if owners and (before is None or before.owners != owners):
            work.append(kv.key)
        if finalizer:
            work.append(kv.key)
            if finalizer == FOREGROUND and uid not in self._waiting:
                self._waiting[uid] = kv.key
                work += sorted(self.dependents(uid))
        elif uid in self._waiting:
            del self._waiting[uid]
        return work

    def forget(self, key: bytes, value: bytes) -> list[bytes]:
        """An object is gone; `value` is what it was."""
        work = self._replace(key, None)
        if self._families:
            uid = metadata_of(value).get("uid", "")
            work += sorted(self.dependents(uid))
        return work

    def _replace(self, key: bytes, node: Node | None) -> list[bytes]:
        """Put a node in the place of another. Returns the owners that may have waited for it."""
        before = self._nodes.get(key)
        if before is None and node is None:
            return []
        if before is not None and (node is None or node.uid != before.uid):
            self._waiting.pop(before.uid, None)
        old = before.owners if before is not None else ()
        if node is None:
            del self._nodes[key]
            self._unlink(key, old)
        else:
            self._nodes[key] = node
            if node.owners == old:
                node.owners = old
                return []
            self._unlink(key, old)
            node.owners = tuple(self._link(key, owner) for owner in node.owners)
        return [self._waiting[owner.uid] for owner in old if owner.uid in self._waiting]

    def _link(self, key: bytes, owner: Owner) -> Owner:
        family = self._families.setdefault(owner.uid, _Family())
        family.keys.add(key)
        return family.references.setdefault(owner, owner)

    def _unlink(self, key: bytes, owners: Iterable[Owner]) -> None:
        for owner in owners:
            family = self._families.get(owner.uid)
            if family is not None:
                family.keys.discard(key)
                if not family.keys:
                    del self._families[owner.uid]
