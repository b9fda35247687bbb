"""kinepy: the storage and the API of Kubernetes on an ordinary SQL database."""

from kinepy.app import open_store
from kinepy.clients import Mirror, retry_on_conflict
from kinepy.keys import KeyRange, prefix_end, successor
from kinepy.records import (
    Compare,
    CompareOperator,
    CompareTarget,
    CountResult,
    DeleteRange,
    DeleteRangeOutcome,
    DeleteResult,
    Event,
    EventType,
    KeyValue,
    Lease,
    LeaseStatus,
    Put,
    PutOutcome,
    Range,
    RangeOutcome,
    RangeResult,
    StoreStatus,
    Txn,
    TxnOutcome,
    TxnResult,
    WatchBatch,
)
from kinepy.revision import FIRST_REVISION, Revision
from kinepy.settings import Settings
from kinepy.store import Store, Watch

__version__ = "0.1.0"

__all__ = [
    "FIRST_REVISION",
    "Compare",
    "CompareOperator",
    "CompareTarget",
    "CountResult",
    "DeleteRange",
    "DeleteRangeOutcome",
    "DeleteResult",
    "Event",
    "EventType",
    "KeyRange",
    "KeyValue",
    "Lease",
    "LeaseStatus",
    "Mirror",
    "Put",
    "PutOutcome",
    "Range",
    "RangeOutcome",
    "RangeResult",
    "Revision",
    "Settings",
    "Store",
    "StoreStatus",
    "Txn",
    "TxnOutcome",
    "TxnResult",
    "Watch",
    "WatchBatch",
    "__version__",
    "open_store",
    "prefix_end",
    "retry_on_conflict",
    "successor",
]
