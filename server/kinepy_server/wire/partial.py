"""PartialObjectMetadata: an object's kind and metadata, cut out of its stored bytes.

Stored bytes have a constant head up to metadata's opening brace, and metadata's members next. Small
objects are parsed, which is fastest; in large ones only the strings of metadata are stepped over, so that
the cost does not grow with the data.
"""

import re

import orjson

PARSED_BYTES_MAX = 16 * 1024
_MARK = re.compile(rb'[{}]|"(?:[^"\\]|\\.)*"')


def partial_object(value: bytes, *, revision: int, api_version: str) -> bytes:
    """A stored object as PartialObjectMetadata of an apiVersion (`meta.k8s.io/v1`), at a revision."""
    return b'{"kind":"PartialObjectMetadata","apiVersion":"%b","metadata":{"resourceVersion":"%d",%b}' % (
        api_version.encode(),
        revision,
        metadata_members(value),
    )


def partial_bookmark(metadata: bytes, *, api_version: str) -> bytes:
    """A bookmark as PartialObjectMetadata; `metadata` is the JSON of its metadata."""
    return b'{"kind":"PartialObjectMetadata","apiVersion":"%b","metadata":%b}' % (
        api_version.encode(),
        metadata,
    )


def partial_list_head(metadata: bytes, *, api_version: str) -> bytes:
    """What comes before the items of a PartialObjectMetadataList; `]}` comes after them.

    Its items carry kind and apiVersion, as `partial_object` makes them.
    """
    return b'{"kind":"PartialObjectMetadataList","apiVersion":"%b","metadata":%b,"items":[' % (
        api_version.encode(),
        metadata,
    )


def metadata_members(value: bytes) -> bytes:
    """The members of metadata in a stored object, with the closing brace."""
    if len(value) <= PARSED_BYTES_MAX:
        return orjson.dumps(orjson.loads(value)["metadata"])[1:]
    start = value.index(b"{", 1) + 1
    depth = 1
    for mark in _MARK.finditer(value, start):
        if mark[0] == b"{":
            depth += 1
        elif mark[0] == b"}":
            depth -= 1
            if not depth:
                return value[start : mark.end()]
    raise ValueError("stored object without end of metadata")
