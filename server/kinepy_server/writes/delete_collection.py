"""Delete a collection (DEL-9): object by object, not atomic."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from kinepy import KeyValue
from kinepy_server.context import Context
from kinepy_server.errors import StatusError
from kinepy_server.objects.conversion import prepare
from kinepy_server.read.options import parse_options
from kinepy_server.read.page import next_token, read_page
from kinepy_server.read.plan import plan_list
from kinepy_server.read.selectors.selection import compile_selection
from kinepy_server.read.shown import list_view, respond
from kinepy_server.read.view import ListMeta
from kinepy_server.request import Request
from kinepy_server.resources.resource import Resource
from kinepy_server.response import Response
from kinepy_server.writes.delete import Deletion, deletion_actor
from kinepy_server.writes.delete_options import DeleteOptions, delete_options
from kinepy_server.writes.outcome import Reviewed
from kinepy_server.writes.review import review_of

AT_ONCE = 64
"""So many deletes of one request run at the same time, so that they share commits."""


async def handle_delete_collection(context: Context, request: Request, resource: Resource) -> Response:
    """Delete the selected objects; 200 with the list of them as they were."""
    view, accepted = list_view(context, request, resource)
    deletion = delete_options(request)
    options = parse_options(request, watch=False)
    if options.resource_version:
        deletion = replace(deletion, resource_version=options.resource_version)
    selection = compile_selection(resource, request.namespace, labels=options.labels, fields=options.fields)
    prefix = resource.list_prefix(request.namespace)
    page = await read_page(context, plan_list(options), prefix, selection=selection, resource=resource)
    await prepare(resource, page.items)
    actor = deletion_actor(request)
    review = review_of(context, request, resource, dry_run=deletion.dry_run, deletes=True)
    for start in range(0, len(page.items), AT_ONCE):
        some = page.items[start : start + AT_ONCE]
        await _delete_all(context, resource, some, options=deletion, actor=actor, review=review)
    meta = ListMeta(page.revision, next_token(page, prefix), page.remaining)
    return await respond(await view.many(page.items, meta), accepted)


async def _delete_all(
    context: Context,
    resource: Resource,
    items: Sequence[KeyValue],
    *,
    options: DeleteOptions,
    actor: str,
    review: Reviewed | None,
) -> None:
    async def delete(kv: KeyValue) -> None:
        *_, namespace, name = kv.key.decode().split("/")
        try:
            one = Deletion(context, resource, name, options=options)
            await one.run(namespace, actor=actor, review=review)
        except StatusError as error:
            if error.code != 404:
                raise

    # All of them end before the first failure is told: nothing is left running behind the answer.
    results = await asyncio.gather(*map(delete, items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
