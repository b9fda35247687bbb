"""The patch formats by media type: how a body becomes a function on documents."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from kinepy_server.errors import StatusError, bad_request, raw_error
from kinepy_server.patch.json_patch import PatchFailed, apply_json_patch
from kinepy_server.patch.merge_patch import apply_merge_patch
from kinepy_server.patch.strategic import strategic_merge
from kinepy_server.patch.strategic_errors import PatchRefused
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.duplicates import may_repeat, repeated_fields
from kinepy_server.schema.go_json import kind_of
from kinepy_server.schema.go_text import go_text
from kinepy_server.schema.types import Type, type_named
from kinepy_server.server_settings import ServerSettings
from kinepy_server.wire.json_text import parse_json


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch. `apply` makes a patched value of a document that it may use up, as often as it is called; it raises
    StatusError. `shown` is how a refusal of the result shows the patch; when empty, the result itself is shown.
    `repeated` tells the fields that the patch has twice, such as `duplicate field "data.a"`, and what a JSON patch's
    operations have beside their own members."""

    apply: Callable[[JsonObject], Any]
    shown: str = ""
    repeated: Sequence[str] = ()


Reader: TypeAlias = Callable[[bytes, Resource, ServerSettings], Patch]
"""Reads the body of a patch of an object of a resource. Raises StatusError for a body that is none."""

_OPERATIONS = "[]handlers.jsonPatchOp"
_OPERATION = "handlers.jsonPatchOp"
_MEMBERS = frozenset(("from", "op", "path", "value"))
_OBJECT = "map[string]interface {}"


def read_json_patch(body: bytes, resource: Resource, settings: ServerSettings) -> Patch:
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
    return Patch(partial(_apply_operations, operations), repeated=_odd_members(body, operations))


def _odd_members(body: bytes, operations: list[JsonObject]) -> Sequence[str]:
    """Members that operations have twice, or that no operation has; one operation after the other."""
    odd = [
        (index, f'json patch unknown field "[{index}].{name}"')
        for index, operation in enumerate(operations)
        for name in operation
        if name not in _MEMBERS
    ]
    for text in repeated_fields(body) if may_repeat(body, operations) else ():
        index = int(text.partition("[")[2].partition("]")[0])
        odd.append((index, f"json patch {text}"))
    return [text for _, text in sorted(odd, key=lambda one: one[0])]


def _apply_operations(operations: list[JsonObject], document: JsonObject) -> Any:
    try:
        return apply_json_patch(document, operations)
    except PatchFailed:
        raise _does_not_apply() from None


def _does_not_apply() -> StatusError:
    message = "the server rejected our request due to an error in our request"
    return StatusError(422, "Invalid", message, details={})


def read_merge_patch(body: bytes, resource: Resource, settings: ServerSettings) -> Patch:
    """A merge patch. Raises 400 for a body that is none."""
    patch = _parsed(body)
    if not isinstance(patch, dict):
        raise _undecodable(f"json: cannot unmarshal {kind_of(patch)} into Go value of type {_OBJECT}")
    return Patch(lambda document: apply_merge_patch(document, patch), repeated=_repeated(body, patch))


def read_strategic_patch(body: bytes, resource: Resource, settings: ServerSettings) -> Patch:
    """A strategic merge patch. Raises 400 for a body that is none."""
    try:
        patch = parse_json(body)
    except ValueError as error:
        raise bad_request(str(error)) from None
    if not isinstance(patch, dict):
        raise bad_request(f"json: cannot unmarshal {kind_of(patch)} into Go value of type {_OBJECT}")
    apply = partial(_merge_strategically, type_named(resource.schema), patch)
    return Patch(apply, go_text(patch), _repeated(body, patch))


def _repeated(body: bytes, patch: JsonObject) -> Sequence[str]:
    return repeated_fields(body) if may_repeat(body, patch) else ()


def _merge_strategically(of: Type, patch: JsonObject, document: JsonObject) -> Any:
    try:
        return strategic_merge(of, document, patch)
    except PatchRefused as error:
        raise _strategic_refusal(error) from None


def _strategic_refusal(error: PatchRefused) -> StatusError:
    match error.code:
        case 400:
            return bad_request(str(error))
        case 422:
            return _does_not_apply()
        case _:
            return raw_error(str(error))


def _parsed(body: bytes) -> Any:
    try:
        return parse_json(body)
    except ValueError as error:
        raise _undecodable(str(error)) from None


def _undecodable(why: str) -> StatusError:
    return bad_request(f"error decoding patch: {why}")


STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
FORMATS: Mapping[str, Reader] = {
    "application/json-patch+json": read_json_patch,
    "application/merge-patch+json": read_merge_patch,
    STRATEGIC_MERGE_PATCH: read_strategic_patch,
}
"""The formats that are made into functions on documents; server-side apply is no such function."""
