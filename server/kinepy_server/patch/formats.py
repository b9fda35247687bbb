"""The patch formats by media type: how a body becomes a function on documents."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from kinepy_server.errors import StatusError, bad_request
from kinepy_server.patch.json_patch import PatchFailed, apply_json_patch
from kinepy_server.patch.merge_patch import apply_merge_patch
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.go_json import kind_of
from kinepy_server.server_settings import ServerSettings
from kinepy_server.wire.json_text import parse_json

Patch: TypeAlias = Callable[[JsonObject], Any]
"""Makes a patched value of a document that it may use up. Can be applied many times. Raises StatusError."""

_OPERATIONS = "[]handlers.jsonPatchOp"
_OPERATION = "handlers.jsonPatchOp"
_OBJECT = "map[string]interface {}"


def read_json_patch(body: bytes, settings: ServerSettings) -> Patch:
    """A JSON patch. Raises 400 for a body that is none, 413 for too many operations."""
    operations = _parsed(body)
    if not isinstance(operations, list):
        raise _undecodable(
            f"json: cannot unmarshal {kind_of(operations)} into Go value of type {_OPERATIONS}"
        )
    most = settings.json_patch_operations_max
    if len(operations) > most:
        text = f"The allowed maximum operations in a JSON patch is {most}, got {len(operations)}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")
    for operation in operations:
        if not isinstance(operation, dict):
            found = kind_of(operation)
            raise _undecodable(f"json: cannot unmarshal {found} into Go value of type {_OPERATION}")
    return partial(_apply_operations, operations)


def _apply_operations(operations: list[JsonObject], document: JsonObject) -> Any:
    try:
        return apply_json_patch(document, operations)
    except PatchFailed:
        message = "the server rejected our request due to an error in our request"
        raise StatusError(422, "Invalid", message, details={}) from None


def read_merge_patch(body: bytes, settings: ServerSettings) -> Patch:
    """A merge patch. Raises 400 for a body that is none."""
    patch = _parsed(body)
    if not isinstance(patch, dict):
        raise _undecodable(f"json: cannot unmarshal {kind_of(patch)} into Go value of type {_OBJECT}")
    return lambda document: apply_merge_patch(document, patch)


def _parsed(body: bytes) -> Any:
    try:
        return parse_json(body)
    except ValueError as error:
        raise _undecodable(str(error)) from None


def _undecodable(why: str) -> StatusError:
    return bad_request(f"error decoding patch: {why}")


FORMATS: Mapping[str, Callable[[bytes, ServerSettings], Patch]] = {
    "application/json-patch+json": read_json_patch,
    "application/merge-patch+json": read_merge_patch,
}
"""The formats that are served; others are 415."""
