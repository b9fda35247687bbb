"""Which view a request gets, negotiated from its Accept header."""

import asyncio
from collections.abc import Sequence

from kinepy_server.context import Context
from kinepy_server.negotiate import STREAM_TYPES, Accepted, check_form, negotiate, not_acceptable
from kinepy_server.read.partial_view import PartialView
from kinepy_server.read.plain_view import PlainView
from kinepy_server.read.protobuf_view import PartialProtobufView, ProtobufView
from kinepy_server.read.table_view import TableView
from kinepy_server.read.view import View
from kinepy_server.request import Request
from kinepy_server.resources.resource import Resource
from kinepy_server.response import Response
from kinepy_server.wire.protobuf import seal_json
from kinepy_server.wire.protobuf_wire import MAGIC
from kinepy_server.wire.table import include_object
from kinepy_server.wire.yaml_text import yaml_of_json


def single_view(context: Context, request: Request, resource: Resource) -> tuple[View, Accepted]:
    """The view of one object. Raises the 406 or 400 of one that cannot be had."""
    accepted = _accepted(request, resource)
    check_form(accepted, resource, is_list=False)
    return _view(context, request, resource, accepted=accepted), accepted


def list_view(context: Context, request: Request, resource: Resource) -> tuple[View, Accepted]:
    """The view of a collection. Raises the 406 or 400 of one that cannot be had."""
    accepted = _accepted(request, resource)
    check_form(accepted, resource, is_list=True)
    return _view(context, request, resource, accepted=accepted), accepted


def watch_view(context: Context, request: Request, resource: Resource) -> tuple[View | None, Accepted]:
    """The view of watch events; None for the list form of partial metadata, which no event can have."""
    accepted = _accepted(request, resource)
    if accepted.media_type == "yaml":
        raise not_acceptable(STREAM_TYPES)
    if accepted.form == "PartialObjectMetadataList":
        return None, accepted
    return _view(context, request, resource, accepted=accepted), accepted


def _accepted(request: Request, resource: Resource) -> Accepted:
    return negotiate(
        request.headers.get("accept", ""),
        verb=request.verb,
        protobuf=resource.protobuf,
        routed=resource.shape is None,
    )


def _view(context: Context, request: Request, resource: Resource, *, accepted: Accepted) -> View:
    if not accepted.form:
        return ProtobufView(resource) if accepted.media_type == "protobuf" else PlainView(resource)
    if accepted.form == "Table":
        if not (resource.stored or resource.columns):
            raise not_acceptable()
        include = include_object(request.parameter("includeObject"))
        return TableView(resource, accepted.meta_api_version, include=include, clock=context.clock)
    view = PartialProtobufView if accepted.media_type == "protobuf" else PartialView
    return view(resource, accepted.meta_api_version)


async def respond(body: bytes | Sequence[bytes], accepted: Accepted) -> Response:
    """The answer that holds `body`, in the media type that was negotiated.

    `body` is what a view made, or JSON that was made without one: a Status, a review.
    """
    match accepted.media_type:
        case "json":
            return Response(200, body)
        case "yaml":
            whole = body if isinstance(body, bytes) else b"".join(body)
            # Writing YAML takes a thousand times as long as what it is made from.
            return Response(200, await asyncio.to_thread(yaml_of_json, whole), accepted.content_type)
        case "protobuf":
            if isinstance(body, bytes) and not body.startswith(MAGIC):
                body = _sealed(body)
            return Response(200, body, accepted.content_type)


def _sealed(body: bytes) -> bytes:
    sealed = seal_json(body)
    if sealed is None:
        raise not_acceptable()
    return sealed
