"""The store: what the log means. Get, range, count at a revision, compare-and-write, watch, leases."""

from kinepy.store.store import Store
from kinepy.store.watch import Watch

__all__ = ["Store", "Watch"]
