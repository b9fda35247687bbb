"""Requests to the host, bounded in number and in time; what fails is told in the words of the original's client."""

import asyncio
import os
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import orjson

from kinepy.clock import Clock
from kinepy_server.auth.delegated.host_config import BadHostConfig, HostConfig
from kinepy_server.tls_client import client_tls
from kinepy_server.version import GIT_VERSION

JSON: Final = "application/json"
ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
WATCHES_MAX: Final = 16
LINE_BYTES_MAX: Final = 4 * 1024 * 1024
TOKEN_READ_EVERY_S: Final = 60.0
_LONGER_S: Final = 30.0
"""So much longer than asked for a watch may take before it is given up."""
_KEEP_ALIVE: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *((socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in
      (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)) if hasattr(socket, name)),
)  # fmt: skip
"""A host that is gone without a farewell is noticed in a minute."""


class HostError(Exception):
    """The host gave no usable answer. `code` is that of its answer, 0 without one; `transient` may pass soon."""

    def __init__(self, text: str, *, code: int = 0, transient: bool = False) -> None:
        super().__init__(text)
        self.code, self.transient = code, transient


class Host:
    """A client of the host's API."""

    def __init__(self, config: HostConfig, *, clock: Clock, timeout_s: float, requests_max: int) -> None:
        self._config, self._clock, self._timeout_s = config, clock, timeout_s
        self._turns = asyncio.Semaphore(requests_max)
        self._token, self._token_until = config.token, 0.0
        transport = httpx.AsyncHTTPTransport(
            verify=_tls(config),
            # Watches hold connections of their own.
            limits=httpx.Limits(
                max_connections=requests_max + WATCHES_MAX, max_keepalive_connections=requests_max
            ),
            socket_options=_KEEP_ALIVE,
        )
        self._client = httpx.AsyncClient(
            transport=transport,
            auth=config.password,
            headers={"user-agent": f"kinepy/{GIT_VERSION}"},
            timeout=None,
            trust_env=False,
        )
        self._extensions = {"sni_hostname": config.server_name} if config.server_name else {}

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def get(self, target: str, *, accept: str = JSON) -> Any:
        """The JSON at a path with its query. Raises `HostError`."""
        return await self._ask("GET", target, accept=accept)

    async def create(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer to an object that is posted. Raises `HostError`."""
        return await self._ask("POST", f"{path}?timeout={self._timeout_s:g}s", body=orjson.dumps(body))

    async def _ask(self, method: str, target: str, *, accept: str = JSON, body: bytes | None = None) -> Any:
        url = self._config.url + target
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._turns,
                self._open(method, url, accept=accept, body=body) as answer,
            ):
                content = await _bounded(answer)
        except TimeoutError:
            raise HostError(f"{_verb(method, url)}: context deadline exceeded") from None
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
            raise _unreachable(method, url, error) from None
        return _value(answer.status_code, content)

    async def lines(self, target: str, *, accept: str, limit_s: float) -> AsyncIterator[bytes]:
        """The lines of an answer that goes on for at most `limit_s`. Raises `HostError`."""
        url = self._config.url + target
        try:
            async with (
                asyncio.timeout(limit_s + _LONGER_S),
                self._open("GET", url, accept=accept, body=None) as answer,
            ):
                if answer.status_code != 200:
                    _value(answer.status_code, await _bounded(answer))
                async for line in _lines(answer):
                    yield line
        except TimeoutError:
            raise HostError(f"{_verb('GET', url)}: context deadline exceeded") from None
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
            raise _unreachable("GET", url, error) from None

    def _open(self, method: str, url: str, *, accept: str, body: bytes | None) -> Any:
        headers = {"accept": accept}
        if body is not None:
            headers["content-type"] = JSON
        token = self._current_token()
        if token:
            headers["authorization"] = f"Bearer {token}"
        return self._client.stream(method, url, content=body, headers=headers, extensions=self._extensions)

    def _current_token(self) -> str:
        file, now = self._config.token_file, self._clock.monotonic()
        if file is not None and now >= self._token_until:
            try:
                self._token = file.read_text().strip()
            except OSError:
                # It is being renewed, or gone: the host judges the one that is known.
                pass
            self._token_until = now + TOKEN_READ_EVERY_S
        return self._token


def _tls(config: HostConfig) -> ssl.SSLContext:
    try:
        context = client_tls(config.ca)
        if config.unverified:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if config.certificate:
            _load_chain(context, config)
    except ssl.SSLError as error:
        raise BadHostConfig(
            f"the certificates for the host cannot be used ({error.reason or 'not readable'}): give PEM"
        ) from error
    return context


def _load_chain(context: ssl.SSLContext, config: HostConfig) -> None:
    # The ssl module reads chains from files only.
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(f"{config.key}\n{config.certificate}")
        file.flush()
        # With a password of no meaning a locked key is refused; without one OpenSSL would ask at the terminal.
        context.load_cert_chain(file.name, password="-")


async def _bounded(answer: httpx.Response) -> bytes:
    parts, size = [], 0
    async for part in answer.aiter_bytes():
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise HostError("the host's answer is too large")
        parts.append(part)
    return b"".join(parts)


async def _lines(answer: httpx.Response) -> AsyncIterator[bytes]:
    rest = b""
    async for part in answer.aiter_bytes():
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            if line:
                yield line
        if len(rest) > LINE_BYTES_MAX:
            raise HostError("a line of the host's answer is too long")


def _value(code: int, content: bytes) -> Any:
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        value = None
    if 200 <= code < 300 and isinstance(value, dict):
        return value
    raise HostError(_words(code, value, content), code=code, transient=code in (429, 500, 503, 504))


def _words(code: int, value: Any, content: bytes) -> str:
    """The message of a Status, else what the original's client says."""
    if isinstance(value, dict) and value.get("kind") == "Status" and value.get("message"):
        return str(value["message"])
    if code == 404:
        return "the server could not find the requested resource"
    text = content[:2048].decode("utf-8", "replace")
    return f'an error on the server ("{text}") has prevented the request from succeeding'


def _verb(method: str, url: str) -> str:
    return f'{method.capitalize()} "{url}"'


def _unreachable(method: str, url: str, error: Exception) -> HostError:
    # A connection that broke while it was used may have been an old one; one that could not be made was not.
    transient = isinstance(error, httpx.ReadError | httpx.WriteError | httpx.RemoteProtocolError)
    return HostError(f"{_verb(method, url)}: {_why(error, url)}", transient=transient)


def _why(error: BaseException, url: str) -> str:
    parts = urlsplit(url)
    address = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            return f"dial tcp {address}: connect: connection refused"
        if isinstance(cause, socket.gaierror):
            return f"dial tcp: lookup {parts.hostname}: no such host"
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"tls: failed to verify certificate: x509: {cause.verify_message}"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx.ReadError | httpx.RemoteProtocolError):
        return "EOF"
    return str(error) or type(error).__name__
