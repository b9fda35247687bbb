"""/openapi/v3: an index, and one document per group version (DISC-8, DISC-9).

Documents are made from the type tables when first asked for, once per registry. An address with the right
hash may be kept for ever.
"""

import asyncio
from collections.abc import Iterator, Sequence
from email.utils import formatdate
from functools import lru_cache
from hashlib import sha512
from itertools import chain
from weakref import WeakKeyDictionary

import orjson

from kinepy_server.aggregation.apiservice import ApiService
from kinepy_server.aggregation.state import Published
from kinepy_server.context import Context
from kinepy_server.openapi_paths import OPTIONS, PATCH, STATUS, path_items, subresource_kind
from kinepy_server.openapi_pieces import Members, encoded, joined
from kinepy_server.openapi_schemas import components, full_name, schema_of_kind
from kinepy_server.openapi_v2 import openapi_v2_page
from kinepy_server.request import Request
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import Resource
from kinepy_server.response import TEXT, Response, StreamResponse
from kinepy_server.seams import Page
from kinepy_server.version import GIT_VERSION

YEAR_S = 365 * 24 * 3600
BASE = "/openapi/v3"


def openapi_pages() -> Sequence[Page]:
    """The pages of OpenAPI, v3 and v2."""
    return [Page(BASE, handle_index), Page(f"{BASE}/*", handle_document), openapi_v2_page()]


async def handle_index(context: Context, request: Request) -> Response:
    """The address of every document. It is JSON, but the original calls it text."""
    body = await asyncio.to_thread(_index, context.registry.shown, context.aggregation.published)
    etag = f'"{_hash(body)}"'
    headers = {"ETag": etag, "Vary": "Accept"}
    return _unless_known(request, Response(200, body, TEXT, headers, verbatim=True))


async def handle_document(context: Context, request: Request) -> Response | StreamResponse:
    """The document of a group version; an address with another hash leads to the right one."""
    path = request.path.removesuffix("/").removeprefix(f"{BASE}/")
    if request.path.rstrip("/") == BASE:
        return await handle_index(context, request)
    backend = _backend(context, path)
    if backend is not None:
        assert context.aggregation.proxy is not None, "who serves for others has been asked"
        return await context.aggregation.proxy.forward(request, backend)
    if path not in _paths(context.registry.shown):
        return Response(404, b"", "", verbatim=True)
    body, right = await asyncio.to_thread(_document, context.registry.shown, path)
    asked = request.parameter("hash")
    if asked and asked != right:
        return Response(301, b"", TEXT, {"Location": f"{BASE}/{path}?hash={right}"}, verbatim=True)
    headers = {"ETag": f'"{right}"', "Vary": "Accept"}
    if asked:
        expires = formatdate(context.clock.now_us() / 1_000_000 + YEAR_S, usegmt=True)
        headers |= {"Cache-Control": "public, immutable", "Expires": expires}
    return _unless_known(request, Response(200, body, headers=headers, verbatim=True))


def _backend(context: Context, path: str) -> ApiService | None:
    """The APIService whose backend describes itself, if it is not this server."""
    published = context.aggregation.published
    if published is None or path not in published.openapi:
        return None
    kind, *group, version = path.split("/")
    return context.aggregation.remote.get((group[0] if kind == "apis" else "", version))


def _unless_known(request: Request, answer: Response) -> Response:
    known = (part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(","))
    if answer.headers["ETag"] in known:
        return Response(304, b"", answer.content_type, answer.headers, verbatim=True)
    return answer


def _hash(body: bytes) -> str:
    return sha512(body).hexdigest().upper()


def _paths(registry: Registry) -> Iterator[str]:
    """The path below /openapi/v3 of every group version."""
    for group in registry.groups():
        for version in group.versions:
            yield f"apis/{group.name}/{version}" if group.name else f"api/{version}"


@lru_cache(maxsize=4)
def _index(registry: Registry, published: Published | None) -> bytes:
    addresses = {path: f"{BASE}/{path}?hash={_document(registry, path)[1]}" for path in _paths(registry)}
    if published is not None:
        addresses |= published.openapi
    paths = {path: {"serverRelativeURL": address} for path, address in sorted(addresses.items())}
    return orjson.dumps({"paths": paths})


_documents: WeakKeyDictionary[Registry, dict[str, tuple[bytes, str]]] = WeakKeyDictionary()
"""Documents and their hashes, by what serves their group: a change of one group leaves those of the others."""


def _document(registry: Registry, path: str) -> tuple[bytes, str]:
    kind, *group, version = path.split("/")
    owner = registry.owner(group[0] if kind == "apis" else "")
    known = _documents.setdefault(owner, {})
    found = known.get(path)
    if found is None:
        body = _described(owner.resources(group[0] if group else "", version))
        found = known[path] = (body, _hash(body))
    return found


def _described(resources: Sequence[Resource]) -> bytes:
    kinds = [subresource_kind(r, subresource) for r in resources for subresource in r.subresources.values()]
    others = [OPTIONS, STATUS, *filter(None, map(schema_of_kind, kinds))]
    patch = (full_name(PATCH), {"type": "object"})
    security = {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}}
    within: Members = {
        "schemas": encoded(chain(components(resources, others), [patch])),
        **encoded([("securitySchemes", security)]),
    }
    whole: Members = {
        "components": within,
        **encoded([("info", {"title": "Kubernetes", "version": GIT_VERSION}), ("openapi", "3.0.0")]),
        "paths": encoded(item for resource in resources for item in path_items(resource).items()),
    }
    return joined(whole)
