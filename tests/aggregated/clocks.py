"""Time that only the test moves."""

from dataclasses import dataclass, field


@dataclass
class HandClock:
    """Sleeping takes no time, and is remembered."""

    seconds: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now_us(self) -> int:
        """Microseconds since 1970."""
        return round(self.seconds * 1e6)

    def monotonic(self) -> float:
        """Seconds since some time."""
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        """Go on at once, so many seconds later."""
        self.slept.append(seconds)
        self.seconds += seconds
