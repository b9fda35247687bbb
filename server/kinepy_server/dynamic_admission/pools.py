"""Connections to webhooks, kept between calls: a pool for each address and bundle of certificates.

A webhook that hangs fills its own pool only.
"""

import ssl
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kinepy_server.dynamic_admission.endpoint import Reachable
from kinepy_server.dynamic_admission.failures import CallFailed
from kinepy_server.tls_client import client_tls

if TYPE_CHECKING:
    import httpx

CONNECTIONS_MAX = 256
"""Connections to one address; who finds them all in use waits."""
IDLE_CONNECTIONS_MAX = 16
POOLS_MAX = 64
"""So many pools are kept that nobody uses at the moment."""


@dataclass(slots=True)
class _Pool:
    client: "httpx.AsyncClient"
    users: int = 0


class Pools:
    """Pools of connections; those that were not used for longest go."""

    def __init__(self) -> None:
        self._pools: OrderedDict[tuple[str, str], _Pool] = OrderedDict()

    @asynccontextmanager
    async def taken(self, endpoint: Reachable) -> "AsyncIterator[httpx.AsyncClient]":
        """The pool for an endpoint. Raises CallFailed for certificates that are none, and addresses."""
        try:
            key = (endpoint.ca, urlsplit(endpoint.url).netloc)
        except ValueError as error:
            # Names of Services may be anything, and rules of addresses were others once.
            raise CallFailed(f"could not get REST client: {error}") from None
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = _Pool(_client(endpoint.ca))
        self._pools.move_to_end(key)
        pool.users += 1
        try:
            yield pool.client
        finally:
            pool.users -= 1
            await self._trim()

    async def _trim(self) -> None:
        spare = len(self._pools) - POOLS_MAX
        if spare <= 0:
            return
        idle = [key for key, pool in self._pools.items() if not pool.users][:spare]
        for pool in [self._pools.pop(key) for key in idle]:
            await pool.client.aclose()

    async def close(self) -> None:
        """Close all connections."""
        pools, self._pools = self._pools, OrderedDict()
        for pool in pools.values():
            await pool.client.aclose()


def _client(ca: str) -> "httpx.AsyncClient":
    import httpx

    limits = httpx.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=IDLE_CONNECTIONS_MAX)
    # A call has one deadline for all of it, which is not the pool's.
    return httpx.AsyncClient(verify=_tls(ca), limits=limits, trust_env=False, timeout=None)


@lru_cache(maxsize=POOLS_MAX)
def _tls(ca: str) -> ssl.SSLContext:
    try:
        return client_tls(ca)
    except ssl.SSLError:
        why = "unable to load root certificates: unable to parse bytes as PEM block"
        raise CallFailed(f"could not get REST client: {why}") from None
