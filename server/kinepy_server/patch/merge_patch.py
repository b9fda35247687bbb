"""JSON merge patch (RFC 7386, PATCH-7)."""

from typing import Any

from kinepy_server.resources.resource import JsonObject


def apply_merge_patch(target: JsonObject, patch: JsonObject) -> JsonObject:
    """`target`, changed in place: null removes a member, objects merge, everything else replaces."""
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict):
            below = target.get(name)
            target[name] = apply_merge_patch(below if isinstance(below, dict) else {}, value)
        else:
            target[name] = _owned(value)
    return target


def _owned(value: Any) -> Any:
    # The patch may be applied again to a newer state, so the target must not share parts with it.
    if isinstance(value, list):
        return [_owned(one) for one in value]
    if isinstance(value, dict):
        return {name: _owned(below) for name, below in value.items()}
    return value
