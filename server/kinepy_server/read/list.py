"""Reading a collection (2.3, 2.4)."""

from kinepy_server.context import Context
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


async def handle_list(context: Context, request: Request, resource: Resource) -> Response:
    """The selected objects of one snapshot, or one page of them, in key order."""
    view, accepted = list_view(context, request, resource)
    options = parse_options(request, watch=False)
    selection = compile_selection(resource, request.namespace, labels=options.labels, fields=options.fields)
    plan = plan_list(options)
    prefix = resource.list_prefix(request.namespace)
    page = await read_page(context, plan, prefix, selection=selection, resource=resource)
    await prepare(resource, page.items)
    meta = ListMeta(page.revision, next_token(page, prefix), page.remaining)
    return await respond(await view.many(page.items, meta), accepted)
