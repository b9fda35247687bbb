"""`kopf run`, unmodified kopf in a process of its own, and what it says."""

import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self, TextIO

from tests.processes import ServerProcess

WAIT_S = 20
SERVER_IS_AWAY = re.compile(r"failed; will retry: .* -> (Client\w+Error|ServerDisconnectedError)\(")


class KopfProcess:
    """`kopf run` of a program in the namespace `default`."""

    def __init__(self, server: ServerProcess, program: Path, *options: str) -> None:
        self.server, self.program, self.options = server, program, options
        self.said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.log: list[str] = []

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "kopf", "run", *self.options, "-n", "default", str(self.program)]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "KUBECONFIG": str(self.server.kubeconfig)},
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        self.readers = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.said.put)),
            threading.Thread(target=self._read, args=(self.process.stderr, self.log.append)),
        ]
        for reader in self.readers:
            reader.start()
        return self

    def _read(self, stream: TextIO, keep: Callable[[str], None]) -> None:
        with stream:
            for line in stream:
                keep(line.rstrip("\n"))

    def stop(self) -> int:
        """End it as a service manager does."""
        self.process.terminate()
        code = self.process.wait(WAIT_S)
        for reader in self.readers:
            reader.join()
        return code

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()

    def says(self, *lines: str) -> None:
        """These lines come next, in whatever order."""
        heard = {self._next() for _ in lines}
        assert heard == set(lines), "\n".join(self.log[-20:])

    def _next(self) -> str:
        try:
            return self.said.get(timeout=WAIT_S)
        except queue.Empty:
            raise AssertionError("\n".join(self.log[-30:])) from None

    @property
    def errors(self) -> list[str]:
        """What it logged as wrong, but for the time in which the server was away."""
        bad = [line for line in self.log if "[ERROR" in line or "[WARNING" in line or "Traceback" in line]
        return [line for line in bad if not SERVER_IS_AWAY.search(line)]
