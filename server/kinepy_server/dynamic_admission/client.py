"""Asking a webhook over HTTP."""

import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from kinepy_server.dynamic_admission.endpoint import Reachable
from kinepy_server.dynamic_admission.webhook import Webhook

if TYPE_CHECKING:
    import httpx

ANSWER_BYTES_MAX = 3 * 1024 * 1024
CONNECTIONS_MAX = 64
API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
_CLIENTS_MAX = 64


class CallFailed(Exception):
    """The webhook gave no usable answer."""


class Clients:
    """Connections to webhooks, kept between calls: one pool for each bundle of certificates."""

    def __init__(self) -> None:
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def ask(self, webhook: Webhook, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The response to an AdmissionReview's request. Raises CallFailed."""
        body = orjson.dumps({"kind": KIND, "apiVersion": API_VERSION, "request": request})
        content = await self.post(webhook, body)
        try:
            review = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise CallFailed(
                f"failed to call webhook: couldn't get version/kind; json parse error: {error}"
            ) from None
        return _response(review, request["uid"])

    async def post(
        self, webhook: Reachable, body: bytes, *, answer_bytes_max: int = ANSWER_BYTES_MAX
    ) -> bytes:
        """The body of a webhook's answer. Raises CallFailed."""
        import httpx

        joint = "&" if "?" in webhook.url else "?"
        url = f"{webhook.url}{joint}timeout={webhook.timeout_s}s"
        post = f'failed to call webhook: Post "{url}": '
        headers = {"content-type": "application/json", "accept": "application/json"}
        try:
            client = await self._client(webhook.ca)
            async with client.stream(
                "POST", url, content=body, headers=headers, timeout=webhook.timeout_s
            ) as answer:
                content = await _bounded(answer, answer_bytes_max)
        except httpx.TimeoutException:
            raise CallFailed(f"{post}context deadline exceeded") from None
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
            raise CallFailed(f"{post}{_reason(error, webhook.url)}") from None
        if not 200 <= answer.status_code < 300:
            raise CallFailed(f"failed to call webhook: {_words(answer.status_code, content)}")
        return content

    async def _client(self, ca: str) -> "httpx.AsyncClient":
        import httpx

        client = self._clients.get(ca)
        if client is None:
            if len(self._clients) >= _CLIENTS_MAX:
                await self.close()
            limits = httpx.Limits(max_connections=CONNECTIONS_MAX)
            client = httpx.AsyncClient(verify=_tls(ca), limits=limits, trust_env=False)
            self._clients[ca] = client
        return client

    async def close(self) -> None:
        """Close all connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()


@lru_cache(maxsize=_CLIENTS_MAX)
def _tls(ca: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=ca or None)


def _reason(error: BaseException, url: str) -> str:
    """Why there was no connection, for the commonest case in the original's words."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError) or "Connection refused" in str(cause):
            return f"dial tcp {urlsplit(url).netloc}: connect: connection refused"
        cause = cause.__cause__ or cause.__context__
    return str(error)


async def _bounded(answer: "httpx.Response", bytes_max: int) -> bytes:
    parts, size = [], 0
    async for part in answer.aiter_bytes():
        size += len(part)
        if size > bytes_max:
            raise CallFailed("failed to call webhook: the answer is too large")
        parts.append(part)
    return b"".join(parts)


def _words(code: int, content: bytes) -> str:
    """The message of a Status, else what the original says of a code."""
    try:
        status = orjson.loads(content)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and status.get("message"):
        return str(status["message"])
    if code == 404:
        return "the server could not find the requested resource"
    text = content[:2048].decode("utf-8", "replace")
    return f'an error on the server ("{text}") has prevented the request from succeeding'


def _response(review: Any, uid: str) -> Mapping[str, Any]:
    bad = "received invalid webhook response: "
    if not isinstance(review, dict) or (review.get("apiVersion"), review.get("kind")) != (API_VERSION, KIND):
        found = (
            f"{review.get('apiVersion')}, Kind={review.get('kind')}" if isinstance(review, dict) else review
        )
        raise CallFailed(
            f"{bad}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {found}"
        )
    response = review.get("response")
    if not isinstance(response, dict):
        raise CallFailed(f"{bad}webhook response was absent")
    if response.get("uid") != uid:
        raise CallFailed(f'{bad}expected response.uid="{uid}", got "{response.get("uid", "")}"')
    if bool(response.get("patch")) != bool(response.get("patchType")):
        raise CallFailed(
            f"{bad}webhook returned response.patch but not response.patchType, or the other way round"
        )
    if response.get("patchType") not in (None, "", "JSONPatch"):
        raise CallFailed(f'{bad}invalid response.patchType="{response["patchType"]}"')
    return response
