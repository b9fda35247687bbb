"""Fair queues: users take turns, and so do the flows of each user. Counts only; nothing here waits."""

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinepy_server.flow.gate import Place


class Waiter:
    """A request that waits. It is gone when its future is done, whatever ended it."""

    __slots__ = ("cost", "expires", "flow", "future", "user")

    def __init__(
        self, user: "User", flow: str, *, cost: int, future: "asyncio.Future[Place]", expires: float
    ) -> None:
        self.user, self.flow, self.cost = user, flow, cost
        self.future, self.expires = future, expires


class User:
    """What one user holds, and who of it waits. `flows` is in the order of their turns."""

    __slots__ = ("flows", "held_bytes", "name", "seats", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.seats = 0
        self.held_bytes = 0
        self.waiting = 0
        self.flows: dict[str, deque[Waiter]] = {}

    def heads(self) -> Iterator[Waiter]:
        """Who is next in each flow, in the order of turns; flows without anybody are forgotten."""
        for flow in tuple(self.flows):
            queue = self.flows[flow]
            while queue and queue[0].future.done():
                queue.popleft()
            if queue:
                yield queue[0]
            else:
                del self.flows[flow]


class Queues:
    """Everybody who waits at one gate. The dictionaries are rings: whose turn it was goes to their end."""

    def __init__(self) -> None:
        self.waiting = 0
        self._users: dict[str, User] = {}

    def may_add(self, user: User, flow: str, *, room: int) -> bool:
        """Whether there is room for one more. Nobody may have more of it than is left free.

        So a single user, or a single flow of a user, can never fill it: whoever comes next finds a place.
        """
        free = room - self.waiting
        queue = user.flows.get(flow)
        return free > 0 and (len(queue) if queue else 0) <= free - user.waiting

    def add(self, waiter: Waiter) -> None:
        """The last of its flow; a new flow or user has its first turn after all others."""
        user = waiter.user
        user.flows.setdefault(waiter.flow, deque()).append(waiter)
        self._users.setdefault(user.name, user)
        user.waiting += 1
        self.waiting += 1

    def ended(self, waiter: Waiter) -> None:
        """It waits no longer; its future is, or is about to be, done."""
        waiter.user.waiting -= 1
        self.waiting -= 1
        if not waiter.user.waiting:
            waiter.user.flows.clear()
            del self._users[waiter.user.name]

    def turned(self, waiter: Waiter) -> None:
        """It has had its turn: others of its user, and other users, come first now."""
        user = waiter.user
        user.flows[waiter.flow].popleft()
        user.flows[waiter.flow] = user.flows.pop(waiter.flow)
        self._users[user.name] = self._users.pop(user.name)
        self.ended(waiter)

    def users(self) -> tuple[User, ...]:
        """Users of whom somebody waits, in the order of their turns."""
        return tuple(self._users.values())
