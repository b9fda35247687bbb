"""Several processes on one port: a parent that starts them, and starts anew the ones that die."""

import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from kinepy_server.cli.identity import Identity
from kinepy_server.cli.listening import bind_another
from kinepy_server.cli.plan import Plan
from kinepy_server.cli.problems import Problem, reported
from kinepy_server.cli.serve import announce, serve_here

RESTART_PAUSE_S = 1.0


@dataclass(slots=True)
class _Parent:
    """The children and the pipes between."""

    plan: Plan
    identity: Identity
    children: dict[int, int] = field(default_factory=dict)
    """Process number -> the pipe on which the child says that it serves."""
    _stopping: bool = False

    def stopping(self) -> bool:
        """Whether the end was asked for."""
        return self._stopping

    def stop(self, *_: object) -> None:
        """Ask all children to end."""
        self._stopping = True
        for child in self.children:
            os.kill(child, signal.SIGTERM)


def run_workers(plan: Plan, identity: Identity, sock: socket.socket) -> None:
    """Run `plan.workers` processes until a signal; returns when all have ended."""
    parent = _Parent(plan, identity)
    # The children hold the reading end: it ends when this process does, however it does.
    alive, _held = os.pipe()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, parent.stop)
    _start(parent, sock, alive=alive, held=_held)
    for _ in range(plan.workers - 1):
        # Bound one at a time: a socket that several children inherit would go on listening after its user's death.
        _start(parent, bind_another(plan.host, plan.port), alive=alive, held=_held)
    if _all_ready(parent):
        announce(identity)
        _supervise(parent, alive=alive, held=_held)
    _end(parent)


def _start(parent: _Parent, sock: socket.socket, *, alive: int, held: int) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        sock.close()
        parent.children[child] = reading
        return
    os.close(held)
    os.close(reading)

    def work() -> None:
        serve_here(parent.plan, parent.identity, sock, on_ready=lambda: _say_ready(writing), parent=alive)

    _be_child(work)


def _be_child(work: Callable[[], None]) -> None:
    """Never return into the parent's code."""
    code = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        with reported():
            work()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _say_ready(pipe: int) -> None:
    os.write(pipe, b"1")
    os.close(pipe)


def _all_ready(parent: _Parent) -> bool:
    """Wait until every child serves; False when one ended first."""
    waiting = set(parent.children.values())
    while waiting and not parent.stopping():
        ready, _, _ = select.select(list(waiting), [], [])
        for pipe in ready:
            if not os.read(pipe, 1):
                return False
            waiting.remove(pipe)
    return True


def _supervise(parent: _Parent, *, alive: int, held: int) -> None:
    while not parent.stopping():
        child, status = os.wait()
        os.close(parent.children.pop(child))
        if parent.stopping():
            return
        code = os.waitstatus_to_exitcode(status)
        print(f"kinepy: worker {child} ended with {code}: starting another", file=sys.stderr, flush=True)
        time.sleep(RESTART_PAUSE_S)
        if not parent.stopping():
            _start(parent, bind_another(parent.plan.host, parent.plan.port), alive=alive, held=held)


def _end(parent: _Parent) -> None:
    failed = not parent.stopping()
    parent.stop()
    codes = []
    for child in list(parent.children):
        _, status = os.waitpid(child, 0)
        codes.append(os.waitstatus_to_exitcode(status))
    # A child that was still starting has no handler yet: the signal ends it, and nothing was begun.
    if failed or set(codes) - {0, -signal.SIGTERM}:
        raise Problem("a worker ended with an error, which is told above")
