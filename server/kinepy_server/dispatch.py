"""Which handler serves a request: the table of verbs and subresources, and what is 404 or 405."""

from collections.abc import Mapping, Sequence

from kinepy_server.context import Context
from kinepy_server.errors import bad_request, method_not_allowed, page_not_found, unknown_resource
from kinepy_server.read import handle_get, handle_list, handle_watch
from kinepy_server.request import Request
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import Resource
from kinepy_server.response import Response, StreamResponse
from kinepy_server.reviews.handlers import REVIEWS, handle_review
from kinepy_server.reviews.token_request import handle_create_token
from kinepy_server.seams import Handler, Page
from kinepy_server.writes.handlers import (
    handle_binding,
    handle_connect,
    handle_create,
    handle_delete,
    handle_delete_collection,
    handle_eviction,
    handle_get_scale,
    handle_patch,
    handle_patch_scale,
    handle_update,
    handle_update_scale,
)

_OBJECT: Mapping[str, Handler] = {"get": handle_get, "update": handle_update, "patch": handle_patch}

_CONNECT: Mapping[str, Handler] = dict.fromkeys(
    ("get", "create", "update", "patch", "delete"), handle_connect
)

HANDLERS: Mapping[str, Mapping[str, Handler]] = {
    "": {
        **_OBJECT,
        "list": handle_list,
        "watch": handle_watch,
        "create": handle_create,
        "delete": handle_delete,
        "deletecollection": handle_delete_collection,
    },
    **dict.fromkeys(("status", "approval", "ephemeralcontainers", "resize"), _OBJECT),
    **dict.fromkeys(("attach", "exec", "log", "portforward", "proxy"), _CONNECT),
    "scale": {"get": handle_get_scale, "update": handle_update_scale, "patch": handle_patch_scale},
    "binding": {"create": handle_binding},
    "eviction": {"create": handle_eviction},
    "finalize": {"update": handle_update},
    "token": {"create": handle_create_token},
}
"""Subresource -> verb -> handler. Which of them a resource has is the registry's affair."""

ACTIONS: dict[str, Handler] = {**dict.fromkeys(REVIEWS, handle_review), "bindings": handle_binding}
"""What is done when an object is created of a kind that is never stored, by the name that messages use for
its resource, such as `tokenreviews.authentication.k8s.io`."""

_NEEDS_NAME = {"list": False, "deletecollection": False, "create": False}


class Pages:
    """The paths outside the resources."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._exact = {page.path.removesuffix("/*"): page for page in pages}

    def find(self, path: str) -> Page | None:
        """The page of a path: its own, else the nearest one above it that serves what is below."""
        path = path.rstrip("/") or "/"
        page = self._exact.get(path)
        while page is None and len(path) > 1:
            path = path[: path.rindex("/")] or "/"
            above = self._exact.get(path)
            page = above if above is not None and above.path.endswith("/*") else None
        return page


async def respond(context: Context, request: Request, pages: Pages) -> Response | StreamResponse:
    """The answer to an authorized request; raises what handlers raise."""
    if "export" in request.query:
        raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    if request.is_resource:
        resource = find_resource(context.registry, request)
        if request.verb in resource.warnings:
            request.warnings.append(resource.warnings[request.verb])
        return await find_handler(resource, request)(context, request, resource)
    page = pages.find(request.path)
    if page is None:
        raise _missing_page(context.registry, request.path)
    if request.method not in page.methods and request.method != "HEAD":
        raise method_not_allowed()
    return await page.handler(context, request)


def find_resource(registry: Registry, request: Request) -> Resource:
    """The resource of a request whose path has its form; raises the 404 of HTTP-4."""
    resource = registry.lookup(request.group, request.version, request.resource)
    if resource is None:
        raise page_not_found() if registry.group(request.group) is None else unknown_resource()
    if request.extra_path:
        raise unknown_resource()
    if resource.namespaced:
        fits = bool(request.namespace) or not request.name
    else:
        fits = not request.namespace or request.resource == "namespaces"
    if not fits or (request.subresource and request.subresource not in resource.subresources):
        raise unknown_resource()
    return resource


def find_handler(resource: Resource, request: Request) -> Handler:
    """The handler of a request; raises 405 when the resource has no such method there (HTTP-5)."""
    verb = request.verb
    subresource = request.subresource
    served = resource.subresources[subresource].verbs if subresource else resource.verbs
    handler = HANDLERS.get(subresource, {}).get(verb)
    if verb == "create" and not subresource and not resource.stored:
        handler = ACTIONS.get(resource.qualified)
    if handler is None or verb not in served or request.method == "HEAD":
        raise method_not_allowed()
    if not subresource and not _address_fits(resource, request):
        raise method_not_allowed()
    return handler


def _address_fits(resource: Resource, request: Request) -> bool:
    if request.verb == "watch":
        return True
    if bool(request.name) != _NEEDS_NAME.get(request.verb, True):
        return False
    across_namespaces = resource.namespaced and not request.namespace
    return not across_namespaces or request.verb == "list"


def _missing_page(registry: Registry, path: str) -> Exception:
    parts = path.strip("/").split("/")
    version_of_group = parts[0] == "apis" and len(parts) == 3 and registry.group(parts[1]) is not None
    version_of_core = parts[0] == "api" and len(parts) == 2
    return unknown_resource() if version_of_group or version_of_core else page_not_found()
