"""What the handlers of one server share."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Protocol

from kinepy import Store
from kinepy.clock import Clock, SystemClock
from kinepy_server.aggregation.state import Aggregation
from kinepy_server.auth.accounts import AccountTokens
from kinepy_server.auth.identity import Identity
from kinepy_server.dynamic_admission.extensions import Extensions
from kinepy_server.flow.control import FlowControl
from kinepy_server.line_cache import LineCache
from kinepy_server.metrics_controllers import ControllerMetrics
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.served import Served
from kinepy_server.server_settings import ServerSettings

if TYPE_CHECKING:
    from kinepy_server.auth.signing import SigningKey


class HostObjects(Protocol):
    """What the host of an aggregated server keeps."""

    async def namespace(self, name: str) -> JsonObject | None:
        """A namespace as far as its metadata goes; None when there is none. Raises a StatusError when that cannot be
        found out."""
        ...

    async def objects(self, resource: Resource, namespace: str, name: str) -> Sequence[JsonObject]:
        """The object of a name, or all of them. Raises a StatusError when that cannot be found out."""
        ...

    async def require(self, resource: Resource, namespace: str, *, name: str) -> None:
        """Raise what keeps an object from being created in one."""
        ...


@dataclass(slots=True)
class Context:
    """Made once for the application; handed to every handler beside the request."""

    store: Store
    registry: Registry
    settings: ServerSettings = field(default_factory=ServerSettings)
    served: Served = field(default_factory=Served)
    clock: Clock = field(default_factory=SystemClock)
    random: Random = field(default_factory=Random)
    shutdown: asyncio.Event = field(default_factory=asyncio.Event)
    """Set it when the server is about to stop: all streams then end cleanly, before connections are closed."""
    lines: LineCache = field(init=False)
    identity: Identity = field(init=False)
    """Everybody may everything until it is set otherwise; tokens are then signed by a key of this process."""
    flow: FlowControl = field(init=False)
    extensions: Extensions = field(default_factory=Extensions)
    """The webhooks and policies that are stored; none are known until somebody follows them."""
    aggregation: Aggregation = field(default_factory=Aggregation)
    """The group versions that other servers serve; none are known until somebody follows them."""
    catch_up: Callable[[str, str], Awaitable[None]] | None = None
    """Learns of a group and plural (empty: of any in the group) what another process may have defined."""
    host: HostObjects | None = None
    """The host of an aggregated server, which has neither namespaces nor anything else of the built-in types."""
    accounts_for_pods: bool = False
    """Whether every pod is given a service account: so it is where a controller makes the accounts `default`."""
    controllers: ControllerMetrics = field(default_factory=ControllerMetrics)
    slow_watches: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many watches were ended as too slow, by group and resource."""

    def __post_init__(self) -> None:
        self.flow = FlowControl(self.settings)
        self.lines = LineCache(self.settings.watch_line_cache_bytes)
        self.identity = Identity(AccountTokens(_own_key, self.store, self.registry, clock=self.clock))


def _own_key() -> "SigningKey":
    from kinepy_server.auth.signing import new_signing_key

    return new_signing_key()
