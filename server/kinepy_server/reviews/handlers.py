"""Answering reviews."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NamedTuple

import orjson

from kinepy import KeyValue, Revision
from kinepy_server.context import Context
from kinepy_server.read.shown import respond, single_view
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.response import Response
from kinepy_server.reviews.access import (
    check_access,
    check_local_access,
    check_own_access,
    review_access,
    review_own_access,
)
from kinepy_server.reviews.identity import check_token, review_self, review_token
from kinepy_server.reviews.rules import check_own_rules, review_own_rules
from kinepy_server.writes.address import settle_namespace
from kinepy_server.writes.body import read_object
from kinepy_server.writes.options import write_options
from kinepy_server.writes.review import ActionReview


class Review(NamedTuple):
    """How one kind of question is answered."""

    answer: Callable[[Context, Request, JsonObject], Awaitable[None]]
    """Completes the object, or makes it anew, with its status."""
    check: Callable[[Request, JsonObject], None] = lambda request, obj: None
    """Raises what is wrong with the question."""


REVIEWS: Mapping[str, Review] = {
    "selfsubjectreviews.authentication.k8s.io": Review(review_self),
    "tokenreviews.authentication.k8s.io": Review(review_token, check_token),
    "localsubjectaccessreviews.authorization.k8s.io": Review(review_access, check_local_access),
    "selfsubjectaccessreviews.authorization.k8s.io": Review(review_own_access, check_own_access),
    "selfsubjectrulesreviews.authorization.k8s.io": Review(review_own_rules, check_own_rules),
    "subjectaccessreviews.authorization.k8s.io": Review(review_access, check_access),
}
"""By the name that messages use for the resource."""


async def handle_review(context: Context, request: Request, resource: Resource) -> Response:
    """Answer a question, if webhooks allow it; 201 with the whole of it."""
    view, accepted = single_view(context, request, resource)
    options = write_options(request, "CreateOptions")
    obj = read_object(context, request, resource, validation=options.validation)
    settle_namespace(request, resource, obj["metadata"])
    review = REVIEWS[resource.qualified]
    admission = ActionReview(
        context,
        request,
        resource,
        dry_run=options.dry_run,
        schema=resource.schema,
        kind=(resource.group, resource.version, resource.kind),
    )
    obj = await admission.judged("CREATE", obj, check=partial(review.check, request))
    await review.answer(context, request, obj)
    # What is shown is told by its metadata, which must come before the other members, wherever the client had it.
    value = orjson.dumps({"metadata": obj["metadata"], **obj})
    shown = KeyValue(b"", value, Revision(0), Revision(0), 0)
    response = await respond(view.one(shown), accepted)
    response.status = 201
    return response
