"""Reads: get, list and watch. Decisions are pure functions; handlers only carry them out."""

from kinepy_server.read.get import handle_get
from kinepy_server.read.list import handle_list
from kinepy_server.read.watch import handle_watch

__all__ = ["handle_get", "handle_list", "handle_watch"]
