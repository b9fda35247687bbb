"""Asking a webhook over HTTP."""

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from kinepy_server.aggregation.endpoints import Unresolved
from kinepy_server.dynamic_admission.endpoint import Reachable
from kinepy_server.dynamic_admission.failures import (
    DEADLINE,
    BrokenOff,
    CallFailed,
    no_connection,
    refused_by,
)
from kinepy_server.dynamic_admission.pools import Pools
from kinepy_server.dynamic_admission.review_checks import (
    GROUP,
    KIND,
    misfit_of,
    older_problem_of,
    problem_of,
)
from kinepy_server.dynamic_admission.webhook import Webhook
from kinepy_server.wire.json_text import parse_json

if TYPE_CHECKING:
    import httpx

    from kinepy_server.aggregation.resolver import Resolver

__all__ = ["CallFailed", "Clients"]

ANSWER_BYTES_MAX = 3 * 1024 * 1024
_HEADERS = {"content-type": "application/json", "accept": "application/json", "accept-encoding": "gzip"}
_FAILED = "failed to call webhook: "
_WHILE_READING = "unexpected error when reading response body. Please retry. Original error: "
_GZIP = 31
"""The window of zlib that stands for gzip."""


@dataclass(slots=True)
class _Place:
    """Where a call goes."""

    url: str
    headers: Mapping[str, str]
    extensions: dict[str, Any] = field(default_factory=dict)


class Clients:
    """Calls of webhooks. Each has one deadline for all of it, and its answer a largest size."""

    def __init__(self, places: "Resolver | None" = None) -> None:
        """`places` knows where Services lead to; what it does not know is looked up by its name in DNS."""
        self._pools, self._places = Pools(), places

    async def ask(self, webhook: Webhook, request: Mapping[str, Any], *, mutating: bool) -> Mapping[str, Any]:
        """The response to an AdmissionReview's request. Raises CallFailed."""
        api_version = f"{GROUP}/{webhook.review_version}"
        body = orjson.dumps({"kind": KIND, "apiVersion": api_version, "request": request})
        content = await self.post(webhook, body)
        try:
            review = parse_json(content)
        except ValueError as error:
            text = f"couldn't get version/kind; json parse error: {error}"
            raise CallFailed(f"{_FAILED}{text}") from None
        misfit = misfit_of(review)
        if misfit:
            raise CallFailed(f"{_FAILED}{misfit}")
        current = webhook.review_version == "v1"
        problem = (
            problem_of(review, request["uid"], mutating=mutating) if current else older_problem_of(review)
        )
        if problem:
            raise CallFailed(f"received invalid webhook response: {problem}")
        response: Mapping[str, Any] = review["response"]
        return response

    async def post(
        self, webhook: Reachable, body: bytes, *, answer_bytes_max: int = ANSWER_BYTES_MAX
    ) -> bytes:
        """The body of a webhook's answer. Raises CallFailed. Redirections are not followed."""
        import httpx

        joint = "&" if "?" in webhook.url else "?"
        url = f"{webhook.url}{joint}timeout={webhook.timeout_s}s"
        before = f'{_FAILED}Post "{url}": '
        address = url
        try:
            async with asyncio.timeout(webhook.timeout_s), self._pools.taken(webhook) as client:
                place = await self._place(webhook, url)
                address = place.url
                async with client.stream(
                    "POST", place.url, content=body, headers=place.headers, extensions=place.extensions
                ) as answer:
                    before = f"{_FAILED}{_WHILE_READING}"
                    content = await _content(answer, answer_bytes_max)
        except TimeoutError:
            raise CallFailed(f"{before}{DEADLINE}") from None
        except BrokenOff as error:
            raise CallFailed(f"{before}{error}") from None
        # UnicodeError: a host that is no name in DNS.
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError, UnicodeError) as error:
            raise CallFailed(f"{before}{no_connection(error, address)}") from None
        content_type = answer.headers.get("content-type", "")
        if not 200 <= answer.status_code < 300:
            raise CallFailed(f"{_FAILED}{refused_by(answer.status_code, content, content_type)}")
        if not content:
            text = (
                f"0-length response with status code: {answer.status_code} and content type: {content_type}"
            )
            raise CallFailed(f"{_FAILED}{text}")
        return content

    async def _place(self, webhook: Reachable, url: str) -> "_Place":
        service = webhook.service
        if service is None or self._places is None:
            return _Place(url, _HEADERS)
        try:
            address = await self._places.resolve(service)
        except Unresolved:
            return _Place(url, _HEADERS)
        name = f"{service.server_name}:{service.port}"
        headers = {**_HEADERS, "host": name}
        # The certificate is to be of the Service's name, wherever that leads to.
        there = url.replace(f"https://{name}/", f"https://{address.netloc}/", 1)
        return _Place(there, headers, {"sni_hostname": service.server_name})

    async def close(self) -> None:
        """Close all connections."""
        await self._pools.close()


async def _content(answer: "httpx.Response", bytes_max: int) -> bytes:
    import httpx

    parts, size = [], 0
    try:
        async for part in _decoded(answer, bytes_max):
            size += len(part)
            if size > bytes_max:
                raise CallFailed(f"{_FAILED}the answer is larger than {bytes_max} bytes")
            parts.append(part)
    except httpx.RemoteProtocolError:
        raise BrokenOff("unexpected EOF") from None
    return b"".join(parts)


async def _decoded(answer: "httpx.Response", bytes_max: int) -> AsyncIterator[bytes]:
    """The parts of a body. However little something is that was compressed, no part is larger than the bound."""
    if answer.headers.get("content-encoding", "").lower() != "gzip":
        async for part in answer.aiter_raw():
            yield part
        return
    unpacker = zlib.decompressobj(_GZIP)
    async for part in answer.aiter_raw():
        try:
            yield unpacker.decompress(part, bytes_max + 1)
        except zlib.error:
            raise BrokenOff("gzip: invalid header") from None
        if unpacker.unconsumed_tail:
            raise CallFailed(f"{_FAILED}the answer is larger than {bytes_max} bytes")
    if not unpacker.eof:
        raise BrokenOff("unexpected EOF")
