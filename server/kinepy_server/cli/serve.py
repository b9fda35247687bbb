"""`kinepy serve`: one process, or several on one port."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import replace

from kinepy import open_store
from kinepy.clock import SystemClock
from kinepy_server.cli.collecting import collect_as_usual
from kinepy_server.cli.identity import Identity, prepare
from kinepy_server.cli.listening import bind
from kinepy_server.cli.places import ensure_folder
from kinepy_server.cli.plan import Plan
from kinepy_server.flow.connections import raise_open_files

READY = "kinepy is serving on {url}"


def run(plan: Plan) -> None:
    """Serve until SIGTERM or SIGINT. Raises errors that `problems` explains."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    raise_open_files()
    # The port comes first: who cannot have it changes nothing in the data folder of a server that runs.
    sock = bind(plan.host, plan.port, shared=plan.workers > 1)
    plan = replace(plan, port=sock.getsockname()[1])
    ensure_folder(plan.data)
    identity = prepare(plan, clock=SystemClock())
    if plan.workers > 1:
        from kinepy_server.cli.workers import run_workers

        run_workers(plan, identity, sock)
    else:
        serve_here(plan, identity, sock, on_ready=lambda: announce(identity))


def announce(identity: Identity) -> None:
    """Tell that the server can serve."""
    print(READY.format(url=identity.url), flush=True)


def serve_here(
    plan: Plan,
    identity: Identity,
    sock: socket.socket,
    *,
    on_ready: Callable[[], None],
    parent: int | None = None,
) -> None:
    """Serve in this process. `parent` is a pipe whose end tells that the parent process is gone."""
    with _runner() as runner:
        runner.run(_serve(plan, identity, sock, on_ready=on_ready, parent=parent))


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def _serve(
    plan: Plan,
    identity: Identity,
    sock: socket.socket,
    *,
    on_ready: Callable[[], None],
    parent: int | None,
) -> None:
    from kinepy_server.server import serve

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if parent is not None:
        loop.add_reader(parent, stop.set)

    def ready() -> None:
        collect_as_usual()
        on_ready()

    async with open_store(plan.database, plan.settings) as store:
        if not stop.is_set():
            await serve(
                store,
                sock,
                security=identity.security,
                controllers=plan.controllers,
                settings=plan.server_settings,
                stop=stop,
                on_ready=ready,
                tls=identity.tls,
                root_ca=identity.root_ca,
                definitions=plan.aggregation.definitions if plan.aggregation is not None else (),
            )
