"""Connections to backends: TLS with the certificate of the front proxy, one pool for each way to trust them."""

import asyncio
import ssl
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kinepy_server.aggregation.apiservice import ApiService
from kinepy_server.aggregation.endpoints import Address
from kinepy_server.aggregation.failures import Unreachable, Untrusted, words
from kinepy_server.tls_client import client_tls

if TYPE_CHECKING:
    import httpx

    from kinepy_server.aggregation.state import ProxyIdentity

CONNECT_S = 30.0
IDLE_CONNECTIONS_MAX = 64
IDLE_S = 90.0
_POOLS_MAX = 256
_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


@dataclass(frozen=True, slots=True)
class Message:
    """A request as it is sent."""

    method: str
    target: bytes
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class _Trust:
    """How a backend is trusted. `name` is empty where its certificate is not looked at."""

    name: str
    ca: str


class Transport:
    """Sends requests to backends. Connections are kept between requests."""

    def __init__(self, identity: "ProxyIdentity") -> None:
        self._identity = identity
        self._pools: OrderedDict[_Trust, httpx.AsyncClient] = OrderedDict()
        self._making = asyncio.Lock()

    async def send(self, service: ApiService, address: Address, message: Message) -> "httpx.Response":
        """The backend's answer, its body still to be read; close it. Raises Unreachable, Untrusted."""
        return await self._send(service, address, message, trust=_trust(service))

    async def probe(self, service: ApiService, address: Address, message: Message) -> "httpx.Response":
        """As `send`, but the backend's certificate is not looked at: it is only asked whether it is there."""
        return await self._send(service, address, message, trust=_Trust("", ""))

    async def _send(
        self, service: ApiService, address: Address, message: Message, *, trust: _Trust
    ) -> "httpx.Response":
        import httpx

        pool = await self._pool(trust)
        try:
            request = _request(service, address, message)
            try:
                return await pool.send(request, stream=True)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                # A connection that was kept may have been closed meanwhile; what changes nothing is sent again.
                if message.method not in _SAFE:
                    raise
                return await pool.send(_request(service, address, message), stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(words(error, address, service)) from error

    async def _pool(self, trust: _Trust) -> "httpx.AsyncClient":
        pool = self._pools.get(trust)
        if pool is not None:
            self._pools.move_to_end(trust)
            return pool
        import httpx

        async with self._making:
            if trust not in self._pools:
                if len(self._pools) >= _POOLS_MAX:
                    # The one that was not used for longest: most likely of certificates that are replaced.
                    await self._pools.popitem(last=False)[1].aclose()
                chain = (await self._identity.front_proxy()).chain
                tls = await asyncio.to_thread(_tls, trust, chain)
                limits = httpx.Limits(
                    max_connections=None,
                    max_keepalive_connections=IDLE_CONNECTIONS_MAX,
                    keepalive_expiry=IDLE_S,
                )
                self._pools[trust] = httpx.AsyncClient(verify=tls, limits=limits, trust_env=False)
            return self._pools[trust]

    async def close(self) -> None:
        """Close all connections."""
        pools, self._pools = self._pools, OrderedDict()
        for pool in pools.values():
            await pool.aclose()


def _trust(service: ApiService) -> _Trust:
    assert service.service is not None, "only what others serve is asked for"
    return _Trust("", "") if service.insecure else _Trust(service.service.server_name, service.ca)


def _tls(trust: _Trust, chain: str) -> ssl.SSLContext:
    try:
        tls = client_tls(trust.ca)
    except ssl.SSLError:
        raise Untrusted("unable to load root certificates: unable to parse bytes as PEM block") from None
    if not trust.name:
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        # Only files can be loaded; this one is its owner's alone, and gone at once.
        file.write(chain)
        file.flush()
        tls.load_cert_chain(file.name)
    return tls


def _request(service: ApiService, address: Address, message: Message) -> "httpx.Request":
    import httpx

    assert service.service is not None, "only what others serve is asked for"
    url = httpx.URL(scheme="https", host=address.host, port=address.port, raw_path=message.target)
    headers = message.headers
    if message.body or message.method in ("POST", "PUT", "PATCH"):
        headers = [*headers, (b"content-length", str(len(message.body)).encode())]
    return httpx.Request(
        message.method,
        url,
        headers=headers,
        stream=httpx.ByteStream(message.body),
        extensions={
            "sni_hostname": service.service.server_name,
            "timeout": {"connect": CONNECT_S, "read": None, "write": None, "pool": None},
        },
    )
