"""Bindings: what they grant never changes, only to whom."""

from collections.abc import Mapping, Sequence

from kinepy_server.resources.checks.causes import invalid, path_of
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.typed import Hooks

_PARTS = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
"""The original shows its internal type."""


def _fixed(new: JsonObject, old: JsonObject) -> Sequence[FieldError]:
    reference = new.get("roleRef") or {}
    if reference == (old.get("roleRef") or {}):
        return ()
    shown = {part: reference.get(field, "") for part, field in _PARTS.items()}
    return [invalid(path_of("roleRef"), shown, "cannot change roleRef")]


_BINDING = Hooks(check_update=_fixed)
HOOKS: Mapping[str, Hooks] = {"rbac.v1.ClusterRoleBinding": _BINDING, "rbac.v1.RoleBinding": _BINDING}
