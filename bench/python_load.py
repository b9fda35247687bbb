"""kload's operations in Python, for machines without Go: slower, so its figures are a lower bound.

python -m bench.python_load -url http://127.0.0.1:8001 -op create -clients 64 -total 5000
"""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable

from bench.table import percentile
from tests.load import Connection
from tests.processes import configmap, configmaps


def arguments() -> argparse.Namespace:
    """kload's options, as far as they are needed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-url", required=True)
    parser.add_argument("-op", required=True, choices=sorted(OPERATIONS))
    for name, default in {"clients": 16, "total": 2000, "size": 1024, "limit": 500}.items():
        parser.add_argument(f"-{name}", type=int, default=default)
    parser.add_argument("-prefix", default="load")
    return parser.parse_args()


class Run:
    """One run of one operation."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.seconds: list[float] = []
        self.errors: dict[str, int] = {}
        self.bytes = 0
        self.items = 0
        self._next = iter(range(options.total))

    async def go(self) -> dict[str, object]:
        """All clients to their end; returns the figures under kload's names."""
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for client in range(self.options.clients):
                group.create_task(self._client(client))
        wall_s = time.perf_counter() - began
        ordered = sorted(self.seconds) or [0.0]
        return {
            "op": self.options.op,
            "ok": len(self.seconds),
            "wall_s": wall_s,
            "per_s": len(self.seconds) / wall_s,
            "p50_ms": percentile(ordered, 0.5) * 1000,
            "p99_ms": percentile(ordered, 0.99) * 1000,
            "errors": self.errors,
            "MB_per_s": self.bytes / wall_s / 1e6,
            "items_per_s": self.items / wall_s,
        }

    async def _client(self, client: int) -> None:
        operation = OPERATIONS[self.options.op]
        async with Connection(self.options.url) as connection:
            for number in self._next:
                began = time.perf_counter()
                problem = await operation(self, connection, client if self.options.op == "update" else number)
                if problem:
                    self.errors[problem] = self.errors.get(problem, 0) + 1
                else:
                    self.seconds.append(time.perf_counter() - began)

    def body(self, name: str, revision: str | None = None) -> bytes:
        """A ConfigMap of the asked size."""
        body = configmap(name, namespace="default", v="x" * self.options.size, t=str(time.time_ns()))
        if revision is not None:
            body["metadata"]["resourceVersion"] = revision
        return json.dumps(body).encode()

    async def expect(self, code: int, request: Awaitable[object]) -> str:
        """ "" when the answer has the code, else what it was."""
        answer = await request
        got = getattr(answer, "code", 0)
        self.bytes += len(getattr(answer, "body", b""))
        return "" if got == code else f"{got}"


async def create(run: Run, connection: Connection, number: int) -> str:
    """POST an object of its own name."""
    body = run.body(f"{run.options.prefix}-{number}")
    return await run.expect(201, connection.send("POST", configmaps(), body))


async def get(run: Run, connection: Connection, number: int) -> str:
    """GET one of a hundred objects."""
    return await run.expect(
        200, connection.send("GET", f"{configmaps()}/{run.options.prefix}-{number % 100}")
    )


async def update(run: Run, connection: Connection, client: int) -> str:
    """GET, then PUT with the revision read; each client its own object."""
    name = f"{run.options.prefix}-u{client}"
    answer = await connection.send("GET", f"{configmaps()}/{name}")
    if answer.code == 404:
        answer = await connection.send("POST", configmaps(), run.body(name))
    revision = answer.json()["metadata"]["resourceVersion"]
    return await run.expect(200, connection.send("PUT", f"{configmaps()}/{name}", run.body(name, revision)))


async def list_all(run: Run, connection: Connection, number: int) -> str:
    """GET the whole collection."""
    return await run.expect(200, connection.send("GET", configmaps()))


async def page(run: Run, connection: Connection, number: int) -> str:
    """GET the whole collection in pages."""
    token = ""
    while True:
        path = f"{configmaps()}?limit={run.options.limit}&continue={token}"
        answer = await connection.send("GET", path)
        if answer.code != 200:
            return str(answer.code)
        body = answer.json()
        run.items += len(body["items"])
        token = body["metadata"].get("continue", "")
        if not token:
            return ""


async def delete(run: Run, connection: Connection, number: int) -> str:
    """DELETE the object of this number."""
    return await run.expect(200, connection.send("DELETE", f"{configmaps()}/{run.options.prefix}-{number}"))


OPERATIONS: dict[str, Callable[[Run, Connection, int], Awaitable[str]]] = {
    "create": create,
    "get": get,
    "update": update,
    "list": list_all,
    "page": page,
    "delete": delete,
}

if __name__ == "__main__":
    print(json.dumps(asyncio.run(Run(arguments()).go())))
