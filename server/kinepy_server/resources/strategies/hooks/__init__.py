"""What only code can say about single types, by the name of their schema."""

from collections.abc import Mapping

from kinepy_server.resources.strategies.hooks import (
    certificates,
    jobs,
    pods,
    roles,
    services,
    storage,
    workloads,
)
from kinepy_server.resources.strategies.typed import Hooks

HOOKS: Mapping[str, Hooks] = {
    **certificates.HOOKS,
    **jobs.HOOKS,
    **pods.HOOKS,
    **roles.HOOKS,
    **services.HOOKS,
    **storage.HOOKS,
    **workloads.HOOKS,
}
