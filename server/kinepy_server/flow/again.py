"""Clients that were refused and come again at once, though they were told to wait.

Each refusal costs about what it costs to read an object, so a few hundred such clients would leave nothing for
those that are let in. So what comes again on the same connection too soon, and would be refused again, is not looked
at before it may come. It holds no more than its connection does. Clients that wait as they were told notice nothing.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kinepy_server.flow.gate import Line

Scope: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = tuple[Any, ...]

TICK_S: Final = 0.05
SPREAD_TICKS: Final = 10
"""Those that were refused together do not come back together."""
READING_METHODS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_RESOURCES: Final = (b"/api/", b"/apis/")
_WHO: Final = frozenset((b"authorization", b"impersonate-user", b"x-remote-user"))


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused on a connection, and until when the client was told to wait."""

    line: Line
    kind: Kind | None
    until: float

    def stands_for(self, scope: Scope, *, now: float) -> bool:
        """Whether another request on that connection comes too soon, and would be refused in the same way."""
        if now >= self.until or self.line.has_room():
            return False
        kind = kind_of(scope)
        return kind is not None and kind == self.kind


def kind_of(scope: Scope) -> Kind | None:
    """For whom and in which line a request waits, as far as its head tells; None for what is always looked at."""
    path: bytes = scope["raw_path"]
    if not path.startswith(_RESOURCES):
        return None
    namespace = path.partition(b"/namespaces/")[2].partition(b"/")[0]
    return scope["method"] in READING_METHODS, namespace, _who(scope["headers"])


def _who(headers: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, ...]:
    return tuple(value for name, value in headers if name in _WHO)


class ComingAgain:
    """What waits until its client may come again; one timer for all that go on at the same time."""

    def __init__(self) -> None:
        self._due: dict[int, list[Callable[[], None]]] = {}
        self._count = 0

    def hold(self, until: float, go_on: Callable[[], None]) -> None:
        """Call `go_on` at that time of the loop, or a little later."""
        self._count += 1
        tick = int(until / TICK_S) + 1 + self._count % SPREAD_TICKS
        due = self._due.get(tick)
        if due is None:
            due = self._due[tick] = []
            asyncio.get_running_loop().call_at(tick * TICK_S, self._release, tick)
        due.append(go_on)

    def _release(self, tick: int) -> None:
        for go_on in self._due.pop(tick):
            go_on()
