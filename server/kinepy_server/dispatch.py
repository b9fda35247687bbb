"""Which handler serves a request: the table of verbs and subresources, and what is 404 or 405."""

from collections.abc import Mapping, Sequence

from kinepy_server.context import Context
from kinepy_server.errors import (
    StatusError,
    bad_request,
    method_not_allowed,
    not_found,
    object_details,
    page_not_found,
    unknown_resource,
)
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
        if request.path.startswith("//"):
            raise page_not_found()
        resource = await _found(context, request)
        if request.verb in resource.warnings:
            request.warnings.append(resource.warnings[request.verb])
        return await find_handler(resource, request)(context, request, resource)
    page = pages.find(request.path)
    if request.path.startswith("/apis/"):
        await _look_for_group(context, request.path.split("/")[2])
    if page is None:
        raise _missing_page(context.registry.shown, request.path)
    if request.method not in page.methods and request.method != "HEAD":
        raise method_not_allowed()
    return await page.handler(context, request)


async def _found(context: Context, request: Request) -> Resource:
    """The resource of a request; one that this process does not know yet may have been defined by another."""
    known = context.registry.shown.lookup(request.group, request.version, request.resource)
    if known is None and context.catch_up is not None:
        await context.catch_up(request.group, request.resource)
    return find_resource(context.registry.shown, request)


async def _look_for_group(context: Context, group: str) -> None:
    if group and context.catch_up is not None and context.registry.group(group) is None:
        await context.catch_up(group, "")


def find_resource(registry: Registry, request: Request) -> Resource:
    """The resource of a request whose path has its form; raises the 404 of HTTP-4."""
    resource = registry.lookup(request.group, request.version, request.resource)
    if resource is None:
        custom = registry.group(request.group) is None or registry.part(request.group) is not None
        raise page_not_found() if custom else unknown_resource()
    if resource.shape is not None:
        _check_custom(resource, request)
        return resource
    if request.extra_path:
        raise unknown_resource()
    if resource.namespaced:
        fits = bool(request.namespace) or not request.name
    else:
        fits = not request.namespace or request.resource == "namespaces"
    if not fits or (request.subresource and request.subresource not in resource.subresources):
        raise unknown_resource()
    return resource


def _check_custom(resource: Resource, request: Request) -> None:
    """Raises what is wrong with the address of a custom resource."""
    across = request.verb in ("list", "watch")
    misplaced = bool(request.namespace) != resource.namespaced
    if request.extra_path or (misplaced and (request.namespace or not across)):
        raise page_not_found()
    if not request.subresource:
        return
    subresource = resource.subresources.get(request.subresource)
    if subresource is None:
        raise not_found(resource, request.name)
    if request.verb not in subresource.verbs:
        text = f'{request.verb} is not supported on resources of kind "{resource.qualified}"'
        raise StatusError(405, "MethodNotAllowed", text, details=object_details(resource, ""))


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
        if resource.shape is not None and verb in ("update", "patch", "get", "delete") and not request.name:
            raise bad_request("name must be provided")
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
    version_of_group = (
        parts[0] == "apis"
        and len(parts) == 3
        and registry.group(parts[1]) is not None
        and registry.part(parts[1]) is None
    )
    version_of_core = parts[0] == "api" and len(parts) == 2 and registry.group("") is not None
    return unknown_resource() if version_of_group or version_of_core else page_not_found()
