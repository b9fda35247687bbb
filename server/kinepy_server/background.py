"""A whole server in a thread of this process, for tests of programs that talk to the API."""

import asyncio
import socket
import threading
from pathlib import Path
from queue import SimpleQueue

from kinepy import KeyRange, Store, open_store
from kinepy.errors import KeyNotFound
from kinepy_server.auth.kubeconfig import kubeconfig, url_of
from kinepy_server.auth.setup import INSECURE
from kinepy_server.controllers import ALL_CONTROLLERS
from kinepy_server.controllers.bootstrap import lasting_keys
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.server import serve
from kinepy_server.server_settings import ServerSettings

MEMORY = "sqlite:///:memory:"
START_TIMEOUT_S = 30.0
RESET_TIMEOUT_S = 30.0
ALL_OBJECTS = KeyRange.prefix(b"/registry/")


class BackgroundServer:
    """Plain HTTP on a free loopback port; everybody is admin; the database is in memory.

    `start` returns when it serves, `stop` when the thread has ended.
    """

    def __init__(self, folder: Path) -> None:
        """`folder` is where the kubeconfig is written."""
        self.url = ""
        self.kubeconfig = folder / "kubeconfig"
        self._thread = threading.Thread(target=self._run, name="kinepy-server", daemon=True)
        self._started: SimpleQueue[BaseException | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._store: Store | None = None

    def start(self) -> None:
        """Start the thread. Raises what kept the server from starting."""
        self._thread.start()
        problem = self._started.get(timeout=START_TIMEOUT_S)
        if problem is not None:
            raise problem
        self.kubeconfig.write_text(kubeconfig(self.url))

    def stop(self) -> None:
        """End watches, finish requests, end the thread. Stopping twice is fine."""
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def reset(self) -> None:
        """Delete everything but the bootstrap objects, each by a write of its own; open watches see it, and stay."""
        assert self._loop is not None and self._store is not None, "the server is not running"
        done = asyncio.run_coroutine_threadsafe(delete_objects(self._store), self._loop)
        done.result(timeout=RESET_TIMEOUT_S)

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self._serve())
        except BaseException as error:
            self._started.put(error)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        with socket.create_server(("127.0.0.1", 0)) as sock:
            sock.setblocking(False)
            self.url = url_of("http", "127.0.0.1", sock.getsockname()[1])
            async with open_store(MEMORY) as self._store:
                await serve(
                    self._store,
                    sock,
                    security=INSECURE,
                    controllers=ALL_CONTROLLERS,
                    settings=ServerSettings(),
                    stop=self._stop,
                    on_ready=lambda: self._started.put(None),
                )


async def delete_objects(store: Store) -> None:
    """Delete every object that a fresh server does not have."""
    kept = lasting_keys(builtin_registry())
    found = await store.range(ALL_OBJECTS, keys_only=True)
    await asyncio.gather(*(_delete(store, item.key) for item in found.items if item.key not in kept))


async def _delete(store: Store, key: bytes) -> None:
    try:
        await store.delete(key)
    except KeyNotFound:
        # A controller or a client of the test was quicker.
        return
