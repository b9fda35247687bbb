"""Answers that are kept for a while; those who ask the same thing at once share one question."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from kinepy.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Answers(Generic[K, V]):
    """At most `answers_max` of them, the ones asked for last, each for `keep_s`. What fails is not kept."""

    def __init__(self, clock: Clock, *, keep_s: float, answers_max: int) -> None:
        self._clock, self._keep_s, self._max = clock, keep_s, answers_max
        self._kept: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self._asked: dict[K, asyncio.Task[V]] = {}

    def known(self, key: K) -> V | None:
        """The answer, if it is kept."""
        found = self._kept.get(key)
        if found is None:
            return None
        if found[1] <= self._clock.monotonic():
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return found[0]

    async def ask(self, key: K, question: Callable[[], Awaitable[V]], *, keep: bool = True) -> V:
        """The answer that is kept, else that of the question. Raises what the question raises."""
        found = self.known(key)
        if found is not None:
            return found
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._answered(key, question, keep=keep))
            task.add_done_callback(_seen)
        # Who gives up waiting does not take the answer away from the others.
        return await asyncio.shield(task)

    async def _answered(self, key: K, question: Callable[[], Awaitable[V]], *, keep: bool) -> V:
        try:
            answer = await question()
            if keep:
                self._kept[key] = (answer, self._clock.monotonic() + self._keep_s)
                if len(self._kept) > self._max:
                    self._kept.popitem(last=False)
            return answer
        finally:
            del self._asked[key]


def _seen(task: asyncio.Task[V]) -> None:
    # When all who asked have given up, nobody looks at what went wrong.
    if not task.cancelled():
        task.exception()
