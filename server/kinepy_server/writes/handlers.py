"""The handlers of writes, for the dispatcher."""

from kinepy_server.writes.create import handle_create
from kinepy_server.writes.delete import handle_delete
from kinepy_server.writes.delete_collection import handle_delete_collection
from kinepy_server.writes.patch import handle_patch
from kinepy_server.writes.update import handle_update

__all__ = [
    "handle_create",
    "handle_delete",
    "handle_delete_collection",
    "handle_patch",
    "handle_update",
]
