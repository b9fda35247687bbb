"""Definitions that are given when a server starts."""

from collections.abc import Sequence
from typing import Final

import orjson

from kinepy_server.auth.user import MASTERS, authenticated
from kinepy_server.context import Context
from kinepy_server.custom.establishing import definitions_resource
from kinepy_server.errors import StatusError
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject
from kinepy_server.writes.apply import APPLY_PATCH, handle_apply

KIND: Final = "CustomResourceDefinition"
MANAGER: Final = "kinepy-definitions"
_SERVER: Final = authenticated("system:apiserver", (MASTERS,))


class BadDefinition(Exception):
    """A definition is refused; the text is one line and says why."""


async def apply_definitions(context: Context, definitions: Sequence[JsonObject]) -> None:
    """Apply them to the store, each as its owner would; what is so already is not written.

    Raises `BadDefinition`; those before it stay applied.
    """
    resource = definitions_resource(context)
    for definition in definitions:
        name = (definition.get("metadata") or {}).get("name") or ""
        request = Request(
            "PATCH",
            "",
            {"fieldManager": (MANAGER,), "force": ("true",)},
            {"content-type": APPLY_PATCH, "accept": "application/json"},
            _SERVER,
            body=orjson.dumps(definition),
            is_resource=True,
            verb="patch",
            group=resource.group,
            version=resource.version,
            resource=resource.plural,
            name=name,
        )
        try:
            await handle_apply(context, request, resource)
        except StatusError as error:
            raise BadDefinition(f"the definition {name!r} is refused: {error.message}") from error
