"""The garbage collector (GC-1, GC-2): objects whose owners are gone go too."""

from kinepy_server.controllers.garbage.collector import collect_garbage

__all__ = ["collect_garbage"]
