"""Defaults that depend on other fields: type -> function that changes the object in place."""

from collections.abc import Callable, Mapping

from kinepy_server.resources.defaults.others import COMPUTED as OTHERS
from kinepy_server.resources.defaults.pods import COMPUTED as PODS
from kinepy_server.resources.defaults.services import COMPUTED as SERVICES
from kinepy_server.resources.defaults.workloads import COMPUTED as WORKLOADS
from kinepy_server.resources.resource import JsonObject

COMPUTED: Mapping[str, Callable[[JsonObject], None]] = {**PODS, **WORKLOADS, **SERVICES, **OTHERS}
