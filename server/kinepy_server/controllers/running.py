"""Running the controllers beside the server."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager

from kinepy.errors import StoreClosed
from kinepy_server.context import Context
from kinepy_server.controllers.bootstrap import make_bootstrap_objects
from kinepy_server.controllers.namespaces import control_namespaces

_log = logging.getLogger("kinepy.controllers")
_RESTART_DELAY_S = 1.0

CONTROLLERS: Mapping[str, Callable[[Context], Awaitable[None]]] = {"namespaces": control_namespaces}
"""Each runs until it is cancelled. One that fails is told and started again."""

ALL_CONTROLLERS = frozenset(CONTROLLERS)


@asynccontextmanager
async def running_controllers(context: Context, names: Collection[str]) -> AsyncIterator[None]:
    """Make the bootstrap objects, then run the named controllers until the block ends."""
    await make_bootstrap_objects(context)
    tasks = [asyncio.create_task(_keep_running(context, name)) for name in sorted(names)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _keep_running(context: Context, name: str) -> None:
    while True:
        try:
            await CONTROLLERS[name](context)
        except StoreClosed:
            return
        except Exception:
            # A supervisor: whatever went wrong is told, and the controller begins anew from the stored state.
            _log.exception("the %s controller failed and starts again", name)
            await context.clock.sleep(_RESTART_DELAY_S)
