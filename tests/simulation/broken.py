"""Deliberately broken parts of the store. A simulation that does not catch each of them proves nothing.

Each is the real part with one promise taken out of it, the way a plausible mistake would.
The modules `broken_...` hold them; here is what a mistake is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from tests.simulation.faults import Fault
from tests.simulation.run import Plan, simulate

Patch = tuple[Any, str, Any]


@dataclass(frozen=True, slots=True)
class Broken:
    """A mistake: its name, the promises as whose breach it may show, and what replaces the real parts."""

    name: str
    promises: tuple[str, ...]
    patches: Callable[[], Sequence[Patch]]
    settings: Mapping[str, Any]
    faults: frozenset[Fault] | None
    length: int

    @property
    def plan(self) -> Plan:
        """Under what the mistake shows soonest."""
        return Plan(settings=dict(self.settings), faults=self.faults, length=self.length)

    def first_seed_that_notices(self, seeds_max: int) -> int | None:
        """The first seed whose run breaks one of the promises."""
        with self.applied():
            for seed in range(seeds_max):
                broken = {each.promise.split()[0] for each in simulate(seed, self.plan).violations}
                if not broken.isdisjoint(self.promises):
                    return seed
        return None

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Run with the mistake."""
        with ExitStack() as stack:
            for target, name, replacement in self.patches():
                stack.enter_context(patch.object(target, name, replacement))
            yield


BROKEN: list[Broken] = []


def broken(
    *promises: str, faults: Sequence[Fault] | None = None, length: int = 1, **settings: Any
) -> Callable[[Callable[[], Sequence[Patch]]], Callable[[], Sequence[Patch]]]:
    """Register a mistake under the name of its function, with the settings, faults and length of a run under which it
    shows soonest."""

    def register(patches: Callable[[], Sequence[Patch]]) -> Callable[[], Sequence[Patch]]:
        kinds = None if faults is None else frozenset(faults)
        BROKEN.append(Broken(patches.__name__, promises, patches, settings, kinds, length))
        return patches

    return register
