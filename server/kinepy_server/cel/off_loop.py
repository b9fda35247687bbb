"""Long evaluations, in a thread of their own: what others wait for goes on meanwhile.

An evaluation is begun where it is wanted, with a budget that is spent in a few milliseconds. The usual expression
never notices. One that is not finished by then is begun anew in the thread, with all that it may cost. There is one
thread, so that however many long evaluations are wanted they get no more of the interpreter than one.

Who can wait calls `patiently`. Code that cannot, such as a strategy that validates a custom object, calls
`kinepy_server.cel.postponed.validated`, which raises what whoever waits for the decision has evaluated elsewhere.
"""

import asyncio
import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

Result = TypeVar("Result")

AT_ONCE_COST = 50_000
"""What an evaluation may cost where others wait for it: about three milliseconds."""
_SWITCH_S = 0.001
"""How long the thread keeps the interpreter while others want it; five times as long is usual."""


class Unfinished(Exception):
    """There is more to evaluate than others should wait for."""


@dataclass(slots=True)
class AtOnce:
    """What may still be spent before others get their turn."""

    left: float = AT_ONCE_COST


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="kinepy-cel")


async def patiently(evaluate: Callable[[AtOnce], Result], at_once: AtOnce) -> Result:
    """What `evaluate` returns. It spends from what may be spent at once, and raises Unfinished if that is not
    enough. Many small evaluations with the same `at_once` let others have their turn in between."""
    if at_once.left < AT_ONCE_COST / 2:
        await asyncio.sleep(0)
        at_once.left = AT_ONCE_COST
    try:
        return evaluate(at_once)
    except Unfinished:
        at_once.left = 0
        return await elsewhere(partial(evaluate, AtOnce(math.inf)))


async def elsewhere(evaluate: Callable[[], Result]) -> Result:
    """What `evaluate` returns, called in the thread. It ends when it ends, also for who has stopped waiting."""
    return await asyncio.get_running_loop().run_in_executor(_thread(), _yielding, evaluate)


def _yielding(evaluate: Callable[[], Result]) -> Result:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _SWITCH_S))
    try:
        return evaluate()
    finally:
        sys.setswitchinterval(before)
