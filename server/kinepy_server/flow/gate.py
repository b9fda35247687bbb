"""A gate that lets in so many requests, and so many bytes, at once.

What a user may hold is what is left free (the dynamic threshold of shared switch buffers): alone half of the
whole, of two a third each, and so on. So whoever comes next is let in at once, however many requests of others
are stuck. Behind the gate is a bounded room in which users take turns.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from kinepy_server.flow.queues import Queues, User, Waiter
from kinepy_server.flow.reason import Reason

SWEEP_S: Final = 0.05
IDLE_USERS_MAX: Final = 1024
"""So many users are remembered who hold nothing: making one anew for each request would cost more."""


class Refused(Exception):
    """There is no place, and none came free in time."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Line:
    """Where a request waits at a gate."""

    gate: "Gate"
    user_name: str
    flow: str

    def refuses(self) -> bool:
        """Whether one that was not let in may not even wait; it is then counted as refused."""
        return self.gate.refuses(self.user_name, self.flow)

    def has_room(self) -> bool:
        """Whether a small request would be let in now, or may wait."""
        return self.gate.has_room(self.user_name, self.flow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a gate lets in at once, how many may wait for it, and for how long."""

    seats: int
    held_bytes: int
    waiting: int
    wait_s: float


class Place:
    """Holds one seat and some bytes until it is left. Leaving twice is fine."""

    __slots__ = ("_gate", "_user", "held_bytes")

    def __init__(self, gate: "Gate", user: User, held_bytes: int) -> None:
        self._gate: Gate | None = gate
        self._user, self.held_bytes = user, held_bytes

    def resize(self, held_bytes: int) -> None:
        """It turned out to be more or less than was thought; it is never refused for that."""
        if self._gate is not None and held_bytes != self.held_bytes:
            self._gate.resized(self._user, held_bytes - self.held_bytes)
            self.held_bytes = held_bytes

    def leave(self) -> None:
        """Give the place to whoever is next."""
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.left(self._user, self.held_bytes)


class Gate:
    """One kind of requests; see above. For one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.refused: dict[Reason, int] = dict.fromkeys(Reason, 0)
        self._seats, self._bytes = limits.seats, limits.held_bytes
        self._cost_max = max(1, limits.held_bytes // 4)
        self._users: dict[str, User] = {}
        self._queues = Queues()
        self._reserved = False
        """Somebody waits for bytes: smaller requests for bytes do not go before it for ever."""
        self._sweeper: asyncio.TimerHandle | None = None

    # --- figures

    @property
    def inside(self) -> int:
        """Requests that hold a place."""
        return self.limits.seats - self._seats

    @property
    def held_bytes(self) -> int:
        """Bytes of the requests inside."""
        return self.limits.held_bytes - self._bytes

    @property
    def waiting(self) -> int:
        """Requests that wait for a place."""
        return self._queues.waiting

    # --- coming and going

    def enter(self, user_name: str, cost: int = 0) -> Place | None:
        """A place at once, or None when there is none now, or others of this user wait already."""
        user = self._users.get(user_name) or self._new_user(user_name)
        if user.waiting or (cost and self._reserved) or not self._fits(user, cost):
            return None
        return self._seat(user, cost)

    async def wait(self, user_name: str, flow: str, *, cost: int = 0) -> Place:
        """A place when it is this flow's turn. Raises `Refused`."""
        user = self._users.get(user_name) or self._new_user(user_name)
        if not self._queues.may_add(user, flow, room=self.limits.waiting):
            raise self._refuse(Reason.QUEUE_FULL)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Place] = loop.create_future()
        expires = loop.time() + self.limits.wait_s
        waiter = Waiter(user, flow, cost=min(cost, self._cost_max), future=future, expires=expires)
        self._queues.add(waiter)
        self._watch_the_clock(loop)
        self._let_in()
        try:
            return await future
        except asyncio.CancelledError:
            self._gave_up(waiter)
            raise

    def refuses(self, user_name: str, flow: str) -> bool:
        """See `Line.refuses`."""
        user = self._users.get(user_name) or self._new_user(user_name)
        if self._queues.may_add(user, flow, room=self.limits.waiting):
            return False
        self.refused[Reason.QUEUE_FULL] += 1
        return True

    def has_room(self, user_name: str, flow: str) -> bool:
        """See `Line.has_room`."""
        user = self._users.get(user_name) or self._new_user(user_name)
        if not user.waiting and self._fits(user, 0):
            return True
        return self._queues.may_add(user, flow, room=self.limits.waiting)

    def left(self, user: User, held_bytes: int) -> None:
        """A place is free again."""
        self._seats += 1
        self._bytes += held_bytes
        user.seats -= 1
        user.held_bytes -= held_bytes
        if self._queues.waiting:
            self._let_in()

    def resized(self, user: User, more_bytes: int) -> None:
        """A place holds more bytes than before, or fewer."""
        self._bytes -= more_bytes
        user.held_bytes += more_bytes
        if more_bytes < 0 and self._queues.waiting:
            self._let_in()

    # --- who is next

    def _fits(self, user: User, cost: int) -> bool:
        seats, free = self._seats, self._bytes
        if seats <= 0 or user.seats > seats:
            return False
        return not cost or (min(cost, self._cost_max) <= free and user.held_bytes <= free)

    def _seat(self, user: User, cost: int) -> Place:
        if cost > self._cost_max:
            cost = self._cost_max
        self._seats -= 1
        user.seats += 1
        if cost:
            self._bytes -= cost
            user.held_bytes += cost
        return Place(self, user, cost)

    def _let_in(self) -> None:
        while self._seats > 0 and (waiter := self._next()) is not None:
            self._queues.turned(waiter)
            waiter.future.set_result(self._seat(waiter.user, waiter.cost))
        if not self._queues.waiting:
            self._reserved = False

    def _next(self) -> Waiter | None:
        self._reserved = False
        for user in self._queues.users():
            if user.seats > self._seats:
                continue
            for waiter in user.heads():
                if waiter.cost and self._reserved:
                    continue
                if self._fits(user, waiter.cost):
                    return waiter
                # It is not held up by what its own user holds, but by the others together: it is first in line.
                self._reserved |= user.held_bytes <= self._bytes
        return None

    # --- who does not come in

    def _gave_up(self, waiter: Waiter) -> None:
        future = waiter.future
        if future.cancelled():
            self._queues.ended(waiter)
            self.refused[Reason.CANCELLED] += 1
        elif future.exception() is None:
            future.result().leave()

    def _watch_the_clock(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._sweeper is None:
            self._sweeper = loop.call_later(SWEEP_S, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self._sweeper = None
        now = loop.time()
        for user in self._queues.users():
            # Within a flow the one that came first is the first to have waited too long.
            while late := [waiter for waiter in user.heads() if waiter.expires <= now]:
                for waiter in late:
                    waiter.future.set_exception(self._refuse(Reason.TIME_OUT))
                    self._queues.ended(waiter)
        if self._queues.waiting:
            self._let_in()
            self._watch_the_clock(loop)

    def _refuse(self, reason: Reason) -> Refused:
        self.refused[reason] += 1
        return Refused(reason)

    def _new_user(self, name: str) -> User:
        if len(self._users) >= IDLE_USERS_MAX:
            self._users = {user.name: user for user in self._users.values() if user.seats or user.waiting}
        user = self._users[name] = User(name)
        return user
