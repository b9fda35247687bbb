"""A thousand definitions of a cloud provider's size, in a server process of its own.

How long their installation and the next start take, and what each costs when nobody uses it.
"""

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import orjson
import psutil

from bench.table import Row
from tests.custom.definitions import DEFINITIONS, definition, version
from tests.processes import ServerProcess

COUNT = 1000
SCHEMA_BYTES = 50_000
CLIENTS = 4
PATIENCE_S = 120
TEXT = (
    "A reference to another resource of the same provider, by its name or by labels of which exactly one may match;"
    " it is resolved once, unless the policy says that it is resolved each time."
)
LEAVES: tuple[dict[str, Any], ...] = (
    {"type": "string", "description": TEXT},
    {"type": "integer", "format": "int64", "description": TEXT},
    {"type": "boolean", "description": TEXT},
    {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "description": TEXT},
    {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "granular"},
)


def provider_schema(size: int = SCHEMA_BYTES) -> dict[str, Any]:
    """A schema of a size: groups of fields in a spec and, as observed, again in a status."""
    fields = {f"field{index}": LEAVES[index % len(LEAVES)] for index in range(12)}
    group = {"type": "object", "description": TEXT, "properties": fields}
    count = size // (2 * len(orjson.dumps(group)))
    groups = {f"group{index}": group for index in range(count)}
    provided = {"type": "object", "properties": groups}
    return {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"forProvider": provided},
                "x-kubernetes-validations": [
                    {"rule": "has(self.forProvider)", "message": "forProvider is required"}
                ],
            },
            "status": {"type": "object", "properties": {"atProvider": provided}},
        },
    }


def bodies(count: int) -> list[bytes]:
    """Definitions of ten to a group."""
    one = version(schema=provider_schema(), subresources={"status": {}})
    return [
        orjson.dumps(
            definition(
                one, plural=f"things{index}", kind=f"Thing{index}", group=f"service{index // 10}.example.com"
            )
        )
        for index in range(count)
    ]


def measure(*, scale: float) -> list[Row]:
    """Figures of one server."""
    count = max(100, int(COUNT * scale))
    made = bodies(count)
    with tempfile.TemporaryDirectory(prefix="kinepy-bench-") as folder:
        server = ServerProcess(Path(folder) / "data", insecure=True, options=("--controllers", "none"))
        with server:
            server.stop()
            began = time.perf_counter()
            server.start()
            bare_s, bare, bare_idle = time.perf_counter() - began, _rss(server), _idle_cpu(server)
            began, spent = time.perf_counter(), _cpu_s(server)
            _install(server, made)
            install_s, install_cpu_s = time.perf_counter() - began, _cpu_s(server) - spent
            after = _rss(server)
            server.stop()
            began = time.perf_counter()
            server.start()
            start_s, started = time.perf_counter() - began, _rss(server)
            served = _get_s(server, f"/apis/service{(count - 1) // 10}.example.com/v1/things{count - 1}")
            idle = _idle_cpu(server)
    size = len(made[0]) / 1000
    return [
        Row(
            name=f"definitions of {size:.0f} KB: installed and established",
            per_second=count / install_s,
            note=f"{count} in {install_s:.1f} s, {install_cpu_s / count * 1000:.1f} ms of the server's CPU each",
        ),
        Row(
            name=f"start with {count} definitions, s",
            per_second=start_s,
            note=f"{bare_s:.1f} without; first list {served * 1000:.0f} ms",
        ),
        Row(
            name="RSS of a definition that nobody uses, KB",
            per_second=(started - bare) / count / 1000,
            note=f"after a restart; {(after - bare) / count / 1000:.0f} right after their installation",
        ),
        Row(
            name="processor time of an idle second with them, ms",
            per_second=idle * 1000,
            note=f"{bare_idle * 1000:.0f} without",
        ),
    ]


def _install(server: ServerProcess, made: list[bytes]) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool, httpx.Client(base_url=server.url, timeout=PATIENCE_S) as client:
        headers = {"content-type": "application/json"}
        for reply in pool.map(lambda body: client.post(DEFINITIONS, content=body, headers=headers), made):
            if reply.status_code != 201:
                raise SystemExit(f"a definition was refused: {reply.text[:500]}")
        last = orjson.loads(made[-1])["spec"]
        path = f"/apis/{last['group']}/v1/{last['names']['plural']}"
        deadline = time.monotonic() + PATIENCE_S
        while client.get(path).status_code != 200:
            if time.monotonic() > deadline:
                raise SystemExit("the last definition is not served")
            time.sleep(0.01)


def _get_s(server: ServerProcess, path: str) -> float:
    began = time.perf_counter()
    httpx.get(server.url + path, timeout=PATIENCE_S).raise_for_status()
    return time.perf_counter() - began


def _rss(server: ServerProcess) -> float:
    return float(psutil.Process(server.pid).memory_info().rss)


def _cpu_s(server: ServerProcess) -> float:
    times = psutil.Process(server.pid).cpu_times()
    return times.user + times.system


def _idle_cpu(server: ServerProcess) -> float:
    time.sleep(2)
    before = _cpu_s(server)
    time.sleep(5)
    return (_cpu_s(server) - before) / 5
