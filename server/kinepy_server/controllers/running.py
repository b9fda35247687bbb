"""Running the controllers beside the server."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeAlias

from kinepy.errors import KinepyError, StoreClosed
from kinepy_server.aggregation.checking import check_api_services
from kinepy_server.aggregation.following import following_api_services
from kinepy_server.aggregation.registering import register_api_services
from kinepy_server.aggregation.resolver import Resolver
from kinepy_server.aggregation.trust import keep_trust
from kinepy_server.context import Context
from kinepy_server.controllers.accounts import keep_default_accounts, publish_root_ca
from kinepy_server.controllers.bootstrap import make_bootstrap_objects
from kinepy_server.controllers.clusterroles import gather_cluster_roles
from kinepy_server.controllers.events import expire_events
from kinepy_server.controllers.garbage import collect_garbage
from kinepy_server.controllers.leadership import Candidate
from kinepy_server.controllers.namespaces import control_namespaces
from kinepy_server.controllers.policy_status import keep_policy_status
from kinepy_server.controllers.storage import release_storage
from kinepy_server.custom.cleaning import clean_definitions
from kinepy_server.custom.following import following_definitions
from kinepy_server.custom.serving import Serving
from kinepy_server.dynamic_admission.following import following_extensions

_log = logging.getLogger("kinepy.controllers")
_RESTART_FIRST_S, _RESTART_MAX_S = 1.0, 30.0
_HEALTHY_S = 60.0

Controller: TypeAlias = Callable[[Context], Awaitable[None]]
ACCOUNTS = "serviceaccounts"

CONTROLLERS: Mapping[str, Controller] = {
    "clusterroles": gather_cluster_roles,
    "events": expire_events,
    "garbagecollector": collect_garbage,
    "namespaces": control_namespaces,
    "policystatus": keep_policy_status,
    "rootca": publish_root_ca,
    ACCOUNTS: keep_default_accounts,
    "storageprotection": release_storage,
}
"""Each runs until it is cancelled, in one process at a time. One that fails is told and started again."""

ALL_CONTROLLERS = frozenset(CONTROLLERS)


def _always(serving: Serving) -> Mapping[str, Controller]:
    """What the original does itself, whichever controllers run beside it."""
    return {
        "apiservices": check_api_services,
        "autoregistration": partial(register_api_services, serving=serving),
        "definitions": partial(clean_definitions, serving=serving),
    }


@asynccontextmanager
async def running_controllers(context: Context, names: Collection[str]) -> AsyncIterator[None]:
    """Make the bootstrap objects, serve custom resources and those of other servers, and run the named controllers
    until the block ends.

    Definitions and APIServices are always looked after: the original does that itself too. Pods are given service
    accounts where the accounts `default` are kept.
    """
    if context.host is not None:
        # All else is the host's.
        async with following_definitions(context):
            yield
        return
    await make_bootstrap_objects(context)
    context.accounts_for_pods = ACCOUNTS in names
    context.extensions.places = Resolver(context.store, clock=context.clock, random=context.random)
    async with (
        following_extensions(context.store, context.extensions),
        following_definitions(context) as serving,
        following_api_services(context),
        _running(context, {**{name: CONTROLLERS[name] for name in names}, **_always(serving)}),
    ):
        yield


@asynccontextmanager
async def _running(context: Context, controllers: Mapping[str, Controller]) -> AsyncIterator[None]:
    candidate = Candidate(context.store, name=f"{socket.gethostname()} {os.getpid()}")
    runs: dict[str, Callable[[], Awaitable[None]]] = {
        name: partial(candidate.lead, name, partial(_act, context, name, controllers[name]))
        for name in sorted(controllers)
        if name != "rootca" or context.served.root_ca
    }
    # Every process tells of its own authorities.
    runs["trust"] = partial(keep_trust, context)
    tasks = [
        asyncio.create_task(_keep_running(context, name, run), name=f"controller {name}")
        for name, run in runs.items()
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await candidate.close()


async def _keep_running(context: Context, name: str, run: Callable[[], Awaitable[None]]) -> None:
    clock, pause_s = context.clock, _RESTART_FIRST_S
    while True:
        started = clock.monotonic()
        try:
            await run()
        except StoreClosed:
            return
        except KinepyError as error:
            _log.warning("the %s controller starts again: %s", name, error)
            context.controllers.failed(name)
        except Exception:
            # A supervisor: whatever went wrong is told, and the controller begins anew from the stored state.
            _log.exception("the %s controller failed and starts again", name)
            context.controllers.failed(name)
        pause_s = _RESTART_FIRST_S if clock.monotonic() - started > _HEALTHY_S else pause_s
        await clock.sleep(pause_s)
        pause_s = min(2 * pause_s, _RESTART_MAX_S)


async def _act(context: Context, name: str, act: Controller) -> None:
    leading = context.controllers.leading
    leading[name] = True
    try:
        await act(context)
    finally:
        leading[name] = False
