"""What a batch must know before it can be evaluated, read under the order lock.

The local index is the head table when it has applied the very revision that was read under the lock;
otherwise, and for values that the cache does not hold, the database is asked.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol

from kinepy.drivers.base import Head, WriteTransaction
from kinepy.errors import TransactionTooLarge
from kinepy.keys import KeyRange
from kinepy.log.draft import Draft, Write
from kinepy.log.rows import key_value_of
from kinepy.records import KeyValue
from kinepy.revision import Revision
from kinepy.settings import Settings

_SPREAD: Final = 4
"""The values that come next are taken to be this much larger than those before."""


class LocalState(Protocol):
    """What this process has in memory of the newest state it has applied."""

    @property
    def revision(self) -> Revision:
        """The revision that has been applied."""
        ...

    @property
    def complete(self) -> bool:
        """Whether every live key is known."""
        ...

    @property
    def entries(self) -> Mapping[bytes, KeyValue | Head]:
        """The live keys; a `Head` stands for a record whose value is not in memory."""
        ...

    def keys_in(self, key_range: KeyRange, *, limit: int) -> list[bytes]:
        """The first live keys of a range, in order."""
        ...


class Prereader:
    """Reads for one batch. `heads_known`: the transaction was given all the plain keys."""

    __slots__ = ("_draft", "_keys", "_local", "_local_is_head", "_settings", "_tx")

    def __init__(self, tx: WriteTransaction, draft: Draft, local: LocalState, *, settings: Settings) -> None:
        self._tx, self._draft, self._local, self._settings = tx, draft, local, settings
        self._local_is_head = local.complete and local.revision == tx.revision
        self._keys: set[bytes] = set()

    async def read(self, writes: Collection[Write], asked: Collection[bytes]) -> None:
        """Fill the draft. `asked` are the keys whose heads came with the transaction.

        Raises `TransactionTooLarge` when there is more to load than one transaction may look at, unless that is one
        write that must not be refused: the writes are to be tried one by one then.
        """
        keys = self._keys
        special: list[Write] = []
        for write in writes:
            keys.update(write.keys)
            if not write.is_plain:
                special.append(write)
        if special:
            await self._read_special(special)
        missing = self._take_local() if self._local_is_head else self._take_heads(asked)
        if missing:
            may_be_too_large = len(writes) > 1 or any(write.may_be_too_large for write in writes)
            await self._take_values(missing, bounded=may_be_too_large)

    async def _read_special(self, writes: Sequence[Write]) -> None:
        await self._read_leases({lease for write in writes for lease in write.leases})
        ending = {write.ending_lease for write in writes if write.ending_lease is not None}
        if ending:
            self._keys.update(key for _, key in await self._tx.keys_of_leases(ending))
        for key_range in {key_range for write in writes for key_range in write.ranges}:
            await self._read_range(key_range)

    async def _read_leases(self, leases: Collection[int]) -> None:
        if leases:
            self._draft.leases = {row.id: row for row in await self._tx.leases_of(leases)}

    async def _read_range(self, key_range: KeyRange) -> None:
        if key_range.is_empty:
            return
        keys_max = self._settings.transaction_keys_max
        limit = keys_max + 1
        if self._local_is_head:
            found = self._local.keys_in(key_range, limit=limit)
        else:
            found = [head.key for head in await self._tx.heads(key_range, limit=limit)]
        if len(found) > keys_max:
            self._draft.overfull[key_range] = len(found)
        else:
            self._keys.update(found)

    def _take_local(self) -> list[bytes]:
        current, entries, missing = self._draft.current, self._local.entries, []
        for key in self._keys:
            entry = entries.get(key)
            if entry is None or type(entry) is KeyValue:
                current[key] = entry
            else:
                missing.append(key)
        return missing

    def _take_heads(self, asked: Collection[bytes]) -> list[bytes]:
        """Keys whose head says that they do not exist, or that the cache holds them, need no more reading."""
        current, entries, heads = self._draft.current, self._local.entries, self._tx.heads_of
        known, missing = set(asked), []
        for key in self._keys:
            if key not in known:
                missing.append(key)
                continue
            head = heads.get(key)
            entry = entries.get(key)
            if head is None:
                current[key] = None
            elif type(entry) is KeyValue and entry.mod_revision == head.revision:
                current[key] = entry
            else:
                missing.append(key)
        return missing

    async def _take_values(self, keys: Sequence[bytes], *, bounded: bool) -> None:
        """Load values, in steps of which none can be much beyond the bound."""
        settings, current = self._settings, self._draft.current
        done = loaded = 0
        largest = settings.value_bytes_max
        while done < len(keys):
            room = settings.transaction_read_bytes_max - loaded
            if bounded and room < 0:
                raise TransactionTooLarge(
                    size_bytes=loaded, size_bytes_max=settings.transaction_read_bytes_max
                )
            step = keys[done : done + max(room // largest, 1)]
            rows = await self._tx.latest_of(step)
            for key in step:
                row = rows.get(key)
                current[key] = None if row is None else key_value_of(row)
                loaded += len(row.value or b"") if row is not None else 0
            done += len(step)
            largest = max(_SPREAD * loaded // done, 1)
        if bounded and loaded > settings.transaction_read_bytes_max:
            raise TransactionTooLarge(size_bytes=loaded, size_bytes_max=settings.transaction_read_bytes_max)
