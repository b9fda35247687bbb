"""The single writes: what they look at, and what they do in a batch's draft."""

from collections.abc import Collection

from kinepy.errors import GuardFailed, KeyExists, KeyNotFound, RevisionConflict
from kinepy.log.draft import ROW_OVERHEAD_BYTES, Draft, Write
from kinepy.records import DeleteResult, KeyValue
from kinepy.revision import Revision


class PutWrite(Write):
    """Write a key whether it exists or not."""

    __slots__ = ("actor", "key", "lease", "value")

    def __init__(self, key: bytes, value: bytes, *, lease: int | None, actor: str | None) -> None:
        self.key, self.value, self.lease, self.actor = key, value, lease, actor
        self.keys = (key,)
        self.size_bytes = len(key) + len(value) + ROW_OVERHEAD_BYTES

    @property
    def leases(self) -> Collection[int]:
        return () if self.lease is None else (self.lease,)

    @property
    def is_plain(self) -> bool:
        return self.lease is None

    def _write(self, draft: Draft) -> KeyValue:
        if self.lease is not None:
            draft.check_lease(self.lease)
        return draft.put(self.key, self.value, lease=self.lease, actor=self.actor)

    def evaluate(self, draft: Draft) -> KeyValue:
        """Returns the new version."""
        return self._write(draft)


class CreateWrite(PutWrite):
    """Write a key that must not exist."""

    __slots__ = ()

    def evaluate(self, draft: Draft) -> KeyValue:
        """Returns the new version; raises `KeyExists`."""
        current = draft.current[self.key]
        if current is not None:
            raise KeyExists(key=self.key, current=current)
        return self._write(draft)


class GuardedCreate(CreateWrite):
    """Write a key that must not exist, while another key is still what it was."""

    __slots__ = ("guard",)

    def __init__(
        self, key: bytes, value: bytes, *, guard: KeyValue, lease: int | None, actor: str | None
    ) -> None:
        super().__init__(key, value, lease=lease, actor=actor)
        self.guard = guard
        self.keys = (key, guard.key)

    def evaluate(self, draft: Draft) -> KeyValue:
        """Returns the new version; raises `GuardFailed`, `KeyExists`."""
        guard = self.guard
        current = draft.current[guard.key]
        if current is None or current.mod_revision != guard.mod_revision:
            raise GuardFailed(key=guard.key, expected=guard.mod_revision, current=current)
        return super().evaluate(draft)


def check_expected(draft: Draft, key: bytes, expect: Revision | None) -> KeyValue:
    """What the key holds; raises `KeyNotFound`, or `RevisionConflict` when that is not the expected version."""
    current = draft.current[key]
    if current is None:
        raise KeyNotFound(key=key, revision=draft.revision)
    if expect is not None and current.mod_revision != expect:
        raise RevisionConflict(key=key, expected=expect, current=current)
    return current


class UpdateWrite(PutWrite):
    """Write a key that must exist, and be at the expected revision if one is given."""

    __slots__ = ("expect",)

    def __init__(
        self, key: bytes, value: bytes, *, expect: Revision | None, lease: int | None, actor: str | None
    ) -> None:
        super().__init__(key, value, lease=lease, actor=actor)
        self.expect = expect

    def evaluate(self, draft: Draft) -> KeyValue:
        """Returns the new version."""
        check_expected(draft, self.key, self.expect)
        return self._write(draft)


class DeleteWrite(Write):
    """Delete a key that must exist, and be at the expected revision if one is given."""

    __slots__ = ("actor", "expect", "key")

    def __init__(self, key: bytes, *, expect: Revision | None, actor: str | None) -> None:
        self.key, self.expect, self.actor = key, expect, actor
        self.keys = (key,)
        self.size_bytes = len(key) + ROW_OVERHEAD_BYTES

    def evaluate(self, draft: Draft) -> DeleteResult:
        """Returns what the key held."""
        check_expected(draft, self.key, self.expect)
        revision = Revision(draft.revision + 1)
        return DeleteResult(revision, draft.delete(self.key, revision=revision, actor=self.actor))
