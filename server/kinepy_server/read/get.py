"""Reading one object (2.2)."""

from kinepy.errors import RevisionInFuture
from kinepy_server.context import Context
from kinepy_server.errors import not_found, revision_in_future
from kinepy_server.objects.conversion import prepare
from kinepy_server.read.page import arrive
from kinepy_server.read.plan import Snapshot, watched_revision
from kinepy_server.read.shown import respond, single_view
from kinepy_server.request import Request
from kinepy_server.request_info import check_url_name
from kinepy_server.resources.resource import Resource
from kinepy_server.response import Response


async def handle_get(context: Context, request: Request, resource: Resource) -> Response:
    """The object in the newest state, or in one not older than the resourceVersion that was asked for."""
    view, accepted = single_view(context, request, resource)
    revision = watched_revision(request.parameter("resourceVersion")) if request.query else None
    if revision:
        try:
            await arrive(context, Snapshot(not_older=revision))
        except RevisionInFuture as error:
            raise revision_in_future(error.requested, error.current) from None
    key = resource.key(request.namespace, request.name)
    kv = await context.store.get(key, consistent=revision is None)
    if kv is None:
        check_url_name(request.name)
        raise not_found(resource, request.name)
    await prepare(resource, (kv,))
    return await respond(view.one(kv), accepted)
