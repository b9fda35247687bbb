"""The object in the body of a create or update."""

import orjson

from kinepy_server.context import Context
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import Validation
from kinepy_server.wire.body import decode_body


def read_object(
    context: Context, request: Request, resource: Resource, *, validation: Validation
) -> JsonObject:
    """Decode the body; each call gives an object of its own. Warnings go into the request."""
    decoded = decode_body(
        resource,
        context.registry,
        request.body,
        content_type=request.headers.get("content-type", ""),
        validation=validation,
    )
    request.warnings.extend(decoded.warnings)
    obj = decoded.object
    metadata = obj["metadata"]
    if "managedFields" not in metadata and _resets_managers(request.body):
        metadata["managedFields"] = []
    return obj


def _resets_managers(body: bytes) -> bool:
    # Decoding drops empty lists, but an empty list of managers is an order to forget them.
    if b'"managedFields"' not in body:
        return False
    try:
        value = orjson.loads(bytes(body))
        return bool(value["metadata"]["managedFields"] == [])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return False
