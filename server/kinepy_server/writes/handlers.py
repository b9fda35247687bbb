"""The handlers of writes, for the dispatcher."""

from kinepy_server.writes.create import handle_create
from kinepy_server.writes.delete import handle_delete
from kinepy_server.writes.delete_collection import handle_delete_collection
from kinepy_server.writes.patch import handle_patch
from kinepy_server.writes.pod_actions import handle_binding, handle_connect, handle_eviction
from kinepy_server.writes.scale import handle_get_scale, handle_patch_scale, handle_update_scale
from kinepy_server.writes.update import handle_update

__all__ = [
    "handle_binding",
    "handle_connect",
    "handle_create",
    "handle_delete",
    "handle_delete_collection",
    "handle_eviction",
    "handle_get_scale",
    "handle_patch",
    "handle_patch_scale",
    "handle_update",
    "handle_update_scale",
]
