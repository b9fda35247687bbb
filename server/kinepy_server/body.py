"""Reading request bodies, bounded."""

import asyncio
from collections.abc import Mapping

import orjson

from kinepy_server.answer import Receive
from kinepy_server.errors import bad_request, body_too_large
from kinepy_server.schema.duplicates import may_repeat
from kinepy_server.wire.yaml_text import ParsedBody

YAML_ASIDE_BYTES = 16 * 1024
"""Longer YAML is parsed in a thread: a megabyte of it takes a second, in which others want to be served."""


async def read_body(headers: Mapping[str, str], receive: Receive, *, limit_bytes: int) -> bytes:
    """The whole body; 413 as soon as it is known to be too long (LIM-1). Long YAML has been parsed."""
    announced = headers.get("content-length")
    if announced is not None and announced.isdecimal() and int(announced) > limit_bytes:
        raise body_too_large(limit_bytes)
    parts: list[bytes] = []
    total = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise bad_request("unable to read the request body: the client has gone")
        part: bytes = message.get("body", b"")
        total += len(part)
        if total > limit_bytes:
            raise body_too_large(limit_bytes)
        if part:
            parts.append(part)
        if not message.get("more_body", False):
            body = parts[0] if len(parts) == 1 else b"".join(parts)
            return body if total <= YAML_ASIDE_BYTES else await _parsed(body, headers.get("content-type", ""))


async def _parsed(body: bytes, content_type: str) -> bytes:
    media_type = content_type.partition(";")[0].strip().lower()
    if not media_type.endswith("yaml") or (media_type.endswith("+yaml") and _is_plain_json(body)):
        return body
    return await asyncio.to_thread(ParsedBody.of, body)


def _is_plain_json(body: bytes) -> bool:
    """Whether a patch that may be YAML will be read as JSON."""
    try:
        return not may_repeat(body, orjson.loads(body))
    except orjson.JSONDecodeError:
        return False
