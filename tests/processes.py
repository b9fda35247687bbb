"""Real kinepy server processes for tests: started, awaited, killed, started again, never left behind."""

import json
import os
import queue
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx

COMMAND = (sys.executable, "-m", "kinepy_server.cli")
READY = "kinepy is serving on "
START_S = 30.0
STOP_S = 20.0

Json = Any  # what a JSON body decodes to


class ServerDidNotStart(Exception):
    """The process ended, or was silent for too long, before its ready line. The text holds its output."""


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run_kinepy(*arguments: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run one `kinepy` command to its end."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=timeout_s, check=False
    )


class ServerProcess:
    """One `kinepy serve` in a process group of its own.

    Entering starts it and waits for its ready line; leaving kills whatever is left of the group. A restart
    keeps the port and the data folder.
    """

    def __init__(
        self,
        data: Path,
        *,
        database: str | None = None,
        insecure: bool = False,
        options: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.data, self.database, self.insecure, self.options = data, database, insecure, options
        self.port = free_port()
        self.environment = dict(environment or {})
        self.output: list[str] = []
        self._process: subprocess.Popen[str] | None = None

    # --- life

    def start(self) -> Self:
        """Start the process; returns when it can serve."""
        if self._process is not None and self._process.poll() is None:
            raise AssertionError("the server is running already")
        self._process = subprocess.Popen(
            self._command(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **self.environment},
        )
        self._wait_until_ready(self._process)
        return self

    def _command(self) -> list[str]:
        command = [*COMMAND, "serve", "--data", str(self.data), "--listen", f"127.0.0.1:{self.port}"]
        if self.database is not None:
            command += ["--database", self.database]
        return command + ["--insecure"] * self.insecure + list(self.options)

    def _wait_until_ready(self, process: subprocess.Popen[str]) -> None:
        lines: queue.Queue[str | None] = queue.Queue()
        # The output is read to its end whatever happens: a full pipe would stop the server.
        threading.Thread(target=self._drain, args=(process, lines), daemon=True).start()
        while True:
            try:
                line = lines.get(timeout=START_S)
            except queue.Empty:
                line = None
            if line is None:
                self.destroy()
                raise ServerDidNotStart("\n".join(self.output[-40:]))
            if line.startswith(READY):
                return

    def _drain(self, process: subprocess.Popen[str], lines: "queue.Queue[str | None]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.output.append(line.rstrip("\n"))
            lines.put(line)
        lines.put(None)
        process.stdout.close()

    def kill(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal to the whole group and wait for the end; returns the exit code."""
        process = self._running()
        os.killpg(process.pid, number)
        return process.wait(STOP_S)

    def stop(self) -> int:
        """SIGTERM to the process alone, as a service manager does; returns the exit code."""
        process = self._running()
        process.terminate()
        return process.wait(STOP_S)

    def restart(self) -> Self:
        """Start again after an end."""
        return self.start()

    def destroy(self) -> None:
        """Leave nothing of it, in whatever state it is."""
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait(STOP_S)

    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None, "the server was never started"
        return self._process

    @property
    def pid(self) -> int:
        """The process' number."""
        return self._running().pid

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.destroy()

    # --- talking to it

    @property
    def url(self) -> str:
        """The address, without a slash at the end."""
        return f"{'http' if self.insecure else 'https'}://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """The file that kubectl reads."""
        return self.data / "kubeconfig"

    @property
    def token(self) -> str | None:
        """The admin's token; None where nobody is asked for one."""
        return None if self.insecure else (self.data / "admin.token").read_text().strip()

    @property
    def headers(self) -> dict[str, str]:
        """What a request of the admin carries."""
        return {} if self.insecure else {"Authorization": f"Bearer {self.token}"}

    @property
    def tls(self) -> ssl.SSLContext | bool:
        """How the certificate is checked: against the server's own CA."""
        return True if self.insecure else ssl.create_default_context(cafile=self.data / "pki" / "ca.crt")

    @contextmanager
    def client(self, *, timeout_s: float = 20.0) -> Iterator["Client"]:
        """A client with the admin's rights."""
        with httpx.Client(
            base_url=self.url, headers=self.headers, verify=self.tls, timeout=timeout_s, trust_env=False
        ) as http:
            yield Client(http)

    def async_client(self, *, connections: int = 64, timeout_s: float = 20.0) -> httpx.AsyncClient:
        """A client for many requests at once."""
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        return httpx.AsyncClient(
            base_url=self.url,
            headers=self.headers,
            verify=self.tls,
            timeout=timeout_s,
            limits=limits,
            trust_env=False,
        )


class Client:
    """The few things that tests say again and again, over one HTTP client."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def get(self, path: str, **query: str | int) -> httpx.Response:
        """GET; names of options stand for themselves."""
        # Empty parameters would take away what the path says.
        return self.http.get(path, params={name: str(value) for name, value in query.items()} or None)

    def send(self, method: str, path: str, body: Json = None, **headers: str) -> httpx.Response:
        """One request with a JSON body."""
        content = b"" if body is None else json.dumps(body).encode()
        return self.http.request(
            method, path, content=content, headers={"Content-Type": "application/json", **headers}
        )

    def create(self, name: str, *, namespace: str = "default", **data: str) -> Json:
        """Create a ConfigMap, which must succeed; returns it."""
        return ok(self.send("POST", configmaps(namespace), configmap(name, **data)), 201)

    def replace(self, body: Json) -> httpx.Response:
        """PUT a ConfigMap at its address."""
        metadata = body["metadata"]
        return self.send("PUT", f"{configmaps(metadata['namespace'])}/{metadata['name']}", body)

    def delete(self, name: str, *, namespace: str = "default") -> Json:
        """Delete a ConfigMap, which must succeed."""
        return ok(self.send("DELETE", f"{configmaps(namespace)}/{name}"), 200)

    def merge_patch(self, path: str, body: Json) -> httpx.Response:
        """A merge patch."""
        return self.send("PATCH", path, body, **{"Content-Type": "application/merge-patch+json"})

    def revision(self) -> int:
        """The store's revision now, as an empty list tells it."""
        listed = ok(self.get(configmaps("kube-public"), labelSelector="nobody=has-this"))
        return int(listed["metadata"]["resourceVersion"])

    @contextmanager
    def watch(self, path: str, **query: str | int) -> Iterator[Iterator[Json]]:
        """An open watch stream; iterating gives its events and ends with the stream."""
        params = {"watch": "true", **{name: str(value) for name, value in query.items()}}
        with self.http.stream("GET", path, params=params) as response:
            assert response.status_code == 200, (response.status_code, response.read())
            yield (json.loads(line) for line in response.iter_lines() if line)


def configmaps(namespace: str = "default") -> str:
    """The address of a namespace's ConfigMaps."""
    return f"/api/v1/namespaces/{namespace}/configmaps"


def configmap(name: str, *, namespace: str | None = None, **data: str) -> Json:
    """A ConfigMap as a client sends it."""
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def ok(response: httpx.Response, code: int = 200) -> Json:
    """The decoded body of an answer that must have this code."""
    assert response.status_code == code, (response.status_code, response.text[:600])
    return response.json()


def message(response: httpx.Response, code: int, reason: str) -> str:
    """The message of a Status answer that must have this code and reason."""
    assert response.status_code == code, (response.status_code, response.text[:600])
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert (body["kind"], body["code"], body.get("reason")) == ("Status", code, reason)
    text: str = body["message"]
    return text
