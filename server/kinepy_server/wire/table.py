"""Tables: the rows that `kubectl get` prints, made by the server.

Columns and cells are the resource's. Column definitions are encoded once per resource; a row costs one
parse of the object.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal

import orjson

from kinepy_server.data import table
from kinepy_server.errors import bad_request
from kinepy_server.resources.resource import Column, JsonObject, Resource

IncludeObject = Literal["None", "Metadata", "Object"]


def include_object(text: str) -> IncludeObject:
    """What the parameter `includeObject` asks for; Metadata when it is absent. Raises 400."""
    match text:
        case "" | "Metadata":
            return "Metadata"
        case "None" | "Object":
            return text
        case _:
            shown = orjson.dumps(text).decode()
            raise bad_request(
                f"Unable to convert to Table as requested: includeObject: Invalid value: {shown}: "
                "must be 'Metadata', 'Object', 'None', or empty"
            )


def cells_of(resource: Resource, obj: JsonObject, now: float) -> Sequence[Any]:
    """The cells of an object in the resource's version, at an instant (seconds since 1970)."""
    if resource.cells is not None:
        return resource.cells(obj, now)
    metadata = obj["metadata"]
    return metadata.get("name", ""), metadata.get("creationTimestamp")


def row_bytes(
    cells: Sequence[Any], shown: bytes = b"null", *, conditions: Sequence[Mapping[str, str]] | None = None
) -> bytes:
    """A row; `shown` is the JSON of its object: whole, partial metadata, or null."""
    if conditions:
        return b'{"cells":%b,"conditions":%b,"object":%b}' % (
            orjson.dumps(cells),
            orjson.dumps(conditions),
            shown,
        )
    return b'{"cells":%b,"object":%b}' % (orjson.dumps(cells), shown)


def table_head(resource: Resource, metadata: bytes, *, api_version: str, columns: bool = True) -> bytes:
    """What comes before the rows of a Table; then come `[`, the rows, `]` and `}`.

    `metadata` is the JSON of its list metadata. Without `columns` the definitions are null, as in all events of
    a watch but the first.
    """
    definitions = column_definitions(resource.columns) if columns else b"null"
    return b'{"kind":"Table","apiVersion":"%b","metadata":%b,"columnDefinitions":%b,"rows":' % (
        api_version.encode(),
        metadata,
        definitions,
    )


def table_bytes(
    resource: Resource, rows: Sequence[bytes], *, metadata: bytes, api_version: str, columns: bool = True
) -> bytes:
    """A whole Table of rows. Types without columns of their own have null rows when there are none."""
    head = table_head(resource, metadata, api_version=api_version, columns=columns)
    return b"%b[%b]}" % (head, b",".join(rows)) if rows or resource.cells is not None else head + b"null}"


def column_definitions(columns: Sequence[Column]) -> bytes:
    """The JSON of column definitions."""
    return _encoded(tuple(columns or name_and_created()))


@cache
def name_and_created() -> Sequence[Column]:
    """The columns of types that have none of their own."""
    return [Column.of(row) for row in table("resources")["defaultColumns"]]


@lru_cache(maxsize=1024)
def _encoded(columns: tuple[Column, ...]) -> bytes:
    return orjson.dumps(
        [
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            }
            for column in columns
        ]
    )
