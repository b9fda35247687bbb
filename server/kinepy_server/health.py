"""/healthz, /livez, /readyz and the checks behind them (DISC-7).

`livez` asks only whether this process answers: a database that is away is no reason to restart it. `readyz` and
`healthz` ask whether it can serve: whether the database can be read, as the original asks its own. One that takes
no more writes, such as on a full disk, is served from.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from kinepy.errors import KinepyError
from kinepy_server.context import Context
from kinepy_server.errors import page_not_found
from kinepy_server.request import Request
from kinepy_server.response import TEXT, Response

CHECK_TIMEOUT_S = 3.0

logger = logging.getLogger(__name__)

Probe = Callable[[Context], Awaitable[str | None]]
"""Finds out what is wrong; None when nothing is."""


@dataclass(frozen=True, slots=True)
class Check:
    """A named check."""

    name: str
    probe: Probe


async def _ping(context: Context) -> str | None:
    return None


async def _database(context: Context) -> str | None:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            await context.store.current_revision()
    except TimeoutError:
        return f"the database did not answer in {CHECK_TIMEOUT_S:g} s"
    except KinepyError as error:
        return str(error)
    return None


async def _rights(context: Context) -> str | None:
    return context.identity.authorizer.problem() or None


async def _shutdown(context: Context) -> str | None:
    return "the server is stopping" if context.shutdown.is_set() else None


PING, DATABASE = Check("ping", _ping), Check("database", _database)
RIGHTS, SHUTDOWN = Check("rights", _rights), Check("shutdown", _shutdown)

GROUPS: Mapping[str, Sequence[Check]] = {
    "healthz": (PING, DATABASE, RIGHTS),
    "livez": (PING,),
    "readyz": (PING, DATABASE, RIGHTS, SHUTDOWN),
}


async def handle_health(context: Context, request: Request) -> Response:
    """Answer a path such as `/readyz` or `/livez/ping`."""
    group, _, name = request.path.strip("/").partition("/")
    checks = GROUPS[group]
    if name:
        return await _one(context, next((check for check in checks if check.name == name), None))
    return await _all(context, request, checks)


async def _one(context: Context, check: Check | None) -> Response:
    if check is None:
        raise page_not_found()
    problem = await check.probe(context)
    if problem is None:
        return Response(200, b"ok", TEXT)
    return Response(500, f"internal server error: {problem}\n".encode(), TEXT)


async def _all(context: Context, request: Request, checks: Sequence[Check]) -> Response:
    group = request.path.strip("/")
    excluded = dict.fromkeys(request.query.get("exclude", ()))
    lines, failed = [], []
    for check in checks:
        if check.name in excluded:
            del excluded[check.name]
            lines.append(f"[+]{check.name} excluded: ok")
        elif (problem := await check.probe(context)) is None:
            lines.append(f"[+]{check.name} ok")
        else:
            # The address is public: what is wrong goes to the log only.
            lines.append(f"[-]{check.name} failed: reason withheld")
            failed.append(f"{check.name}: {problem}")
    if excluded:
        names = ", ".join(f'"{name}"' for name in sorted(excluded))
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    if failed:
        logger.warning("%s check failed: %s", group, "; ".join(failed))
        return Response(500, "\n".join([*lines, f"{group} check failed\n"]).encode(), TEXT)
    if "verbose" not in request.query:
        return Response(200, b"ok", TEXT)
    return Response(200, "\n".join([*lines, f"{group} check passed\n"]).encode(), TEXT)
