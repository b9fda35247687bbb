"""Revisions: the store's one clock.

A revision counts committed changes. It only ever rises, and within an epoch it rises by exactly one
per change. A fresh store stands at `FIRST_REVISION`; the first write takes the next one (as in etcd).
"""

from typing import Final, NewType

Revision = NewType("Revision", int)

FIRST_REVISION: Final = Revision(1)
REVISION_MAX: Final = Revision(2**63 - 1)
