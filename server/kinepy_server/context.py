"""What the handlers of one server share."""

from dataclasses import dataclass
from random import Random

from kinepy import Store
from kinepy.clock import Clock
from kinepy_server.resources.registry import Registry
from kinepy_server.server_settings import ServerSettings


@dataclass(slots=True)
class Context:
    """Made once by the application; handed to every handler beside the request."""

    store: Store
    registry: Registry
    settings: ServerSettings
    clock: Clock
    random: Random
