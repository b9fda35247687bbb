"""/openapi/v2: one description of everything, as JSON and as protobuf (DISC-10).

It is made when it is first asked for, in a thread, once per registry.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha512
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import orjson

from kinepy_server.context import Context
from kinepy_server.negotiate import JSON, parse_accept
from kinepy_server.openapi_pieces import joined
from kinepy_server.openapi_v2_document import swagger_definitions, swagger_head, swagger_paths
from kinepy_server.openapi_v2_protobuf import definition_message, document_message, path_message
from kinepy_server.request import Request
from kinepy_server.resources.registry import Registry
from kinepy_server.response import Response
from kinepy_server.seams import Page
from kinepy_server.version import GIT_VERSION

PATH = "/openapi/v2"
_PROTOBUF = "application/com.github.proto-openapi.spec.v2{}v1.0+protobuf"
PROTOBUF = _PROTOBUF.format(".")
ASKED: Mapping[str, str] = {JSON: JSON, _PROTOBUF.format("@"): PROTOBUF, PROTOBUF: PROTOBUF}
"""Media type in Accept -> that of the answer. The type that clients ask for is no valid one."""


def openapi_v2_page() -> Page:
    """The page of OpenAPI v2."""
    return Page(PATH, handle_swagger)


async def handle_swagger(context: Context, request: Request) -> Response:
    """The document, in the best form that the client takes; both forms have one ETag."""
    content_type = _chosen(request.headers.get("accept") or "*/*")
    if not content_type:
        return Response(406, b"", "", {"Vary": "Accept"}, verbatim=True)
    forms = await asyncio.to_thread(_forms, context.registry.shown)
    headers = {"ETag": forms.etag, "Vary": "Accept"}
    known = (part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(","))
    if forms.etag in known:
        return Response(304, b"", content_type, headers, verbatim=True)
    body = forms.protobuf if content_type == PROTOBUF else forms.json
    return Response(200, body, content_type, headers, verbatim=True)


def _chosen(accept: str) -> str:
    """The media type of the answer; empty when the client takes none."""
    for clause in parse_accept(accept):
        for asked, answered in ASKED.items():
            kind, _, subtype = asked.partition("/")
            if clause.type in (kind, "*") and clause.subtype in (subtype, "*"):
                return answered
    return ""


@dataclass(frozen=True, slots=True)
class _Forms:
    """The document in both forms."""

    json: bytes
    protobuf: bytes
    etag: str


_made: WeakKeyDictionary[Registry, _Forms] = WeakKeyDictionary()
_making = Lock()


def _forms(registry: Registry) -> _Forms:
    with _making:
        forms = _made.get(registry)
        if forms is None:
            forms = _made[registry] = _make(registry)
        return forms


def _make(registry: Registry) -> _Forms:
    before, after = swagger_head(GIT_VERSION)
    paths = _Section(swagger_paths(registry), path_message)
    definitions = _Section(swagger_definitions(registry), definition_message)
    head, tail = ({name: orjson.dumps(one) for name, one in part.items()} for part in (before, after))
    text = joined({**head, "paths": paths.json, "definitions": definitions.json, **tail})
    parts = {"paths": paths.messages, "definitions": definitions.messages}
    return _Forms(
        text, document_message({**before, **after, **parts}), f'"{sha512(text).hexdigest().upper()}"'
    )


class _Section:
    """The members of a part of the document in both forms, each made and encoded by itself."""

    def __init__(self, members: Iterable[tuple[str, Any]], message: Callable[[str, Any], bytes]) -> None:
        made = {name: (orjson.dumps(value), message(name, value)) for name, value in members}
        order = sorted(made)
        self.json = {name: made[name][0] for name in order}
        self.messages = [made[name][1] for name in order]
