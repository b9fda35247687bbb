"""Connections to backends: TLS with the certificate of the front proxy, kept between requests."""

import asyncio
import ssl
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kinepy_server.aggregation.apiservice import ApiService
from kinepy_server.aggregation.connection import Broken, Connection, head_of
from kinepy_server.aggregation.endpoints import Address
from kinepy_server.aggregation.failures import Unreachable, Untrusted, words
from kinepy_server.tls_client import client_tls

if TYPE_CHECKING:
    from kinepy_server.aggregation.state import ProxyIdentity
    from kinepy_server.auth.front_proxy import FrontProxy

CONNECT_S = 30.0
IDLE_CONNECTIONS_MAX = 64
IDLE_S = 90.0
_POOLS_MAX = 256
_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))


@dataclass(frozen=True, slots=True)
class Message:
    """A request as it is sent."""

    method: str
    target: bytes
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class _Trust:
    """How a backend is trusted. `checked` is whether its certificate is looked at, for its name and by this CA."""

    name: str
    ca: str
    checked: bool


@dataclass(slots=True)
class _Pool:
    tls: ssl.SSLContext
    closed: bool = False
    idle: dict[Address, list[Connection]] = field(default_factory=dict)

    def take(self, address: Address, now: float) -> Connection | None:
        """A connection that was kept."""
        kept = self.idle.get(address, [])
        while kept:
            connection = kept.pop()
            if connection.reusable and now - connection.idle_since < IDLE_S:
                connection.reused = True
                return connection
            connection.abort()
        self.idle.pop(address, None)
        return None

    def give(self, address: Address, connection: Connection, now: float) -> None:
        """Keep a connection, if another request may be sent on it."""
        kept = self.idle.setdefault(address, [])
        if connection.reusable and len(kept) < IDLE_CONNECTIONS_MAX and not self.closed:
            connection.idle_since = now
            kept.append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        """Close what was kept; what is in use goes on, and is closed then."""
        for kept in self.idle.values():
            for connection in kept:
                connection.abort()
        self.idle.clear()
        self.closed = True


class Answer:
    """A backend's answer, its body still to be read. Close it."""

    def __init__(self, connection: Connection, pool: _Pool, address: Address) -> None:
        self.status, self.headers = connection.status, connection.headers
        self._connection: Connection | None = connection
        self._pool, self._address = pool, address

    async def read(self) -> bytes:
        """The next part of the body; empty at its end. Raises Broken."""
        return await self._connection.read() if self._connection is not None else b""

    def close(self) -> None:
        """Keep the connection when all was read, else close it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.give(self._address, connection, asyncio.get_running_loop().time())


class Transport:
    """Sends requests to backends."""

    def __init__(self, identity: "ProxyIdentity") -> None:
        self._identity = identity
        self._pools: OrderedDict[_Trust, _Pool] = OrderedDict()
        self._shown: FrontProxy | None = None
        """The certificate that is shown on the connections of all pools."""
        self._making = asyncio.Lock()

    async def send(self, service: ApiService, address: Address, message: Message) -> Answer:
        """The backend's answer. Raises Unreachable, Untrusted."""
        return await self._send(
            service, address, message, trust=_trust(service, checked=not service.insecure)
        )

    async def probe(self, service: ApiService, address: Address, message: Message) -> Answer:
        """As `send`, but the backend's certificate is not looked at: it is only asked whether it is there."""
        return await self._send(service, address, message, trust=_trust(service, checked=False))

    async def _send(
        self, service: ApiService, address: Address, message: Message, *, trust: _Trust
    ) -> Answer:
        pool = await self._pool(trust)
        try:
            while True:
                connection = pool.take(address, asyncio.get_running_loop().time())
                if connection is None:
                    connection = await _connect(address, pool.tls, trust.name)
                try:
                    await _ask(connection, message)
                    return Answer(connection, pool, address)
                except BaseException as error:
                    connection.abort()
                    # A connection that was kept may have been closed meanwhile; what changes nothing is sent again.
                    closed = connection.reused and not connection.heard
                    if not (isinstance(error, Broken) and closed and message.method in _SAFE):
                        raise
        # UnicodeError: a name that is none in DNS.
        except (Broken, OSError, UnicodeError) as error:
            raise Unreachable(words(error, address, service)) from error

    async def _pool(self, trust: _Trust) -> _Pool:
        shown = await self._identity.front_proxy()
        if shown is not self._shown:
            self.close()
            self._shown = shown
        pool = self._pools.get(trust)
        if pool is not None:
            self._pools.move_to_end(trust)
            return pool
        async with self._making:
            pool = self._pools.get(trust)
            if pool is None:
                pool = _Pool(await asyncio.to_thread(_tls, trust, shown.chain))
                if shown is self._shown:
                    if len(self._pools) >= _POOLS_MAX:
                        # The one that was not used for longest: most likely of certificates that are replaced.
                        self._pools.popitem(last=False)[1].close()
                    self._pools[trust] = pool
                else:
                    pool.closed = True
            return pool

    def close(self) -> None:
        """Close all connections that nobody uses."""
        while self._pools:
            self._pools.popitem()[1].close()


async def _connect(address: Address, tls: ssl.SSLContext, name: str) -> Connection:
    try:
        async with asyncio.timeout(CONNECT_S):
            _, connection = await asyncio.get_running_loop().create_connection(
                Connection, address.host, address.port, ssl=tls, server_hostname=name
            )
            return connection
    except TimeoutError:
        raise Broken(f"dial tcp {address.netloc}: i/o timeout") from None


async def _ask(connection: Connection, message: Message) -> None:
    headers = message.headers
    if message.body or message.method in _WITH_BODY:
        headers = [*headers, (b"content-length", b"%d" % len(message.body))]
    head = head_of(message.method, message.target, headers)
    await connection.request(head, message.body, headless=message.method == "HEAD")


def _trust(service: ApiService, *, checked: bool) -> _Trust:
    assert service.service is not None, "only what others serve is asked for"
    return _Trust(service.service.server_name, service.ca if checked else "", checked)


def _tls(trust: _Trust, chain: str) -> ssl.SSLContext:
    try:
        tls = client_tls(trust.ca)
    except ssl.SSLError:
        raise Untrusted("unable to load root certificates: unable to parse bytes as PEM block") from None
    if not trust.checked:
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        # Only files can be loaded; this one is its owner's alone, and gone at once.
        file.write(chain)
        file.flush()
        tls.load_cert_chain(file.name)
    return tls
