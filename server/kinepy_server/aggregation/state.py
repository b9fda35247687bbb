"""What one process knows of APIServices. Kept in step by a follower; read by every request."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from kinepy_server.aggregation.apiservice import ApiService
from kinepy_server.aggregation.priorities import Priority
from kinepy_server.lasting import in_own_thread

if TYPE_CHECKING:
    from kinepy_server.aggregation.proxy import Proxy
    from kinepy_server.auth.front_proxy import FrontProxy
    from kinepy_server.request import Request


FINDING = "finding the front proxy"
_log = logging.getLogger("kinepy.server")


def _own() -> "Callable[[], FrontProxy]":
    @cache
    def find() -> "FrontProxy":
        # Most servers have no servers behind them, and need no certificate for them.
        from kinepy_server.auth.front_proxy import new_front_proxy

        return new_front_proxy()

    return find


def _time() -> float:
    return asyncio.get_running_loop().time()


@dataclass(slots=True)
class ProxyIdentity:
    """By what backends know this server, and by what they may know its clients."""

    find: "Callable[[], FrontProxy]" = field(default_factory=_own)
    """The certificate of the front proxy, another one when it had to be renewed; it may block. Raises OSError and
    ValueError. Made for this process alone when nothing else is given."""
    client_ca: str = ""
    """Certificates (PEM) of the authority that clients' certificates are of."""
    publish: bool = False
    """Whether both are told from the start, or only when there is something to proxy for."""
    look_every_s: float = 3600.0
    """How often the certificate is found again: it is renewed weeks before its end."""
    _found: "FrontProxy | None" = field(default=None, repr=False)
    _look_at: float = field(default=0.0, repr=False)
    _finding: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _again: asyncio.Task[None] | None = field(default=None, repr=False)

    async def front_proxy(self) -> "FrontProxy":
        """The certificate, by `find` now and then, once for all who ask. Raises what it does, the first time; later
        nobody waits for it."""
        if self._found is None:
            async with self._finding:
                if self._found is None:
                    self._found = await in_own_thread(self.find)
                    self._look_at = _time() + self.look_every_s
        elif self._again is None and _time() >= self._look_at:
            self._again = asyncio.create_task(self._find_again(self._found), name=FINDING)
        return self._found

    async def _find_again(self, before: "FrontProxy") -> None:
        try:
            found = await in_own_thread(self.find)
            # The same object while nothing has changed: connections that wait for use are kept with it.
            self._found = before if found == before else found
        except (OSError, ValueError) as error:
            _log.warning("the front proxy goes on with its certificate, until this is put right: %s", error)
        except Exception:
            _log.exception("the front proxy goes on with its certificate")
        finally:
            self._again, self._look_at = None, _time() + self.look_every_s


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What discovery tells of APIServices, beside what this server serves. Another state is another object."""

    remote: Sequence[ApiService] = ()
    priorities: Mapping[tuple[str, str], Priority] = field(default_factory=dict)
    """Those of all APIServices that say something else than is usual, by group and version."""
    documents: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    """What backends tell of their group versions, once they were asked: entries of the aggregated form."""
    openapi: Mapping[str, str] = field(default_factory=dict)
    """The addresses of their descriptions, by path below /openapi/v3."""


class Aggregation:
    """The APIServices that this process knows."""

    def __init__(self, identity: ProxyIdentity | None = None) -> None:
        self.identity = identity if identity is not None else ProxyIdentity()
        self.remote: Mapping[tuple[str, str], ApiService] = {}
        """What others serve, by group and version; empty on most servers."""
        self.published: Published | None = None
        """None where discovery has nothing to tell that the registry does not know."""
        self.proxy: Proxy | None = None
        self.begun = asyncio.Event()
        """Set when there is, or has been, a backend."""

    def claims(self, request: "Request") -> ApiService | None:
        """The APIService that a request is for, if another server is to answer it."""
        if not self.remote:
            return None
        if request.is_resource:
            return self.remote.get((request.group, request.version))
        parts = request.path.strip("/").split("/")
        if len(parts) == 3 and parts[0] == "apis":
            return self.remote.get((parts[1], parts[2]))
        return self.remote.get(("", parts[1])) if len(parts) == 2 and parts[0] == "api" else None
