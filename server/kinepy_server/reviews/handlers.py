"""Answering reviews."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import orjson

from kinepy import KeyValue, Revision
from kinepy_server.context import Context
from kinepy_server.read.shown import respond, single_view
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.response import Response
from kinepy_server.reviews.access import review_access, review_local_access, review_own_access
from kinepy_server.reviews.identity import review_self, review_token
from kinepy_server.reviews.rules import review_own_rules
from kinepy_server.writes.address import settle_namespace
from kinepy_server.writes.body import read_object
from kinepy_server.writes.options import write_options

Review: TypeAlias = Callable[[Context, Request, JsonObject], Awaitable[None]]
"""Completes the object, or makes it anew, with its status. Raises what is wrong with the question."""

REVIEWS: Mapping[str, Review] = {
    "selfsubjectreviews.authentication.k8s.io": review_self,
    "tokenreviews.authentication.k8s.io": review_token,
    "localsubjectaccessreviews.authorization.k8s.io": review_local_access,
    "selfsubjectaccessreviews.authorization.k8s.io": review_own_access,
    "selfsubjectrulesreviews.authorization.k8s.io": review_own_rules,
    "subjectaccessreviews.authorization.k8s.io": review_access,
}
"""By the name that messages use for the resource."""


async def handle_review(context: Context, request: Request, resource: Resource) -> Response:
    """Answer a question; 201 with the whole of it."""
    view, accepted = single_view(context, request, resource)
    options = write_options(request, "CreateOptions")
    obj = read_object(context, request, resource, validation=options.validation)
    settle_namespace(request, resource, obj["metadata"])
    await REVIEWS[resource.qualified](context, request, obj)
    # What is shown is told by its metadata, which must come before the other members, wherever the client had it.
    value = orjson.dumps({"metadata": obj["metadata"], **obj})
    shown = KeyValue(b"", value, Revision(0), Revision(0), 0)
    response = await respond(view.one(shown), accepted)
    response.status = 201
    return response
