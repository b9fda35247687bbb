"""What failed is tried again, later each time."""

from heapq import heappop, heappush

FIRST_S = 0.05
MAX_S = 30.0


class Retries:
    """Keys that wait for their next try. Instants are seconds of a monotonic clock."""

    def __init__(self, *, first_s: float = FIRST_S, max_s: float = MAX_S) -> None:
        self._first_s, self._max_s = first_s, max_s
        self._due: list[tuple[float, bytes]] = []
        self._tries: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._tries)

    def again(self, key: bytes, *, now: float) -> None:
        """The key failed once more."""
        tries = self._tries.get(key, 0)
        self._tries[key] = tries + 1
        heappush(self._due, (now + min(self._first_s * 2.0 ** min(tries, 32), self._max_s), key))

    def done(self, key: bytes) -> None:
        """The key needs no further try."""
        self._tries.pop(key, None)

    def take(self, *, now: float) -> list[bytes]:
        """The keys whose time has come; each is to be followed by `again` or `done`."""
        taken = []
        while self._due and self._due[0][0] <= now:
            key = heappop(self._due)[1]
            if key in self._tries:
                taken.append(key)
        return taken

    def wait_s(self, *, now: float) -> float | None:
        """How long until one is due; None when none waits."""
        return max(self._due[0][0] - now, 0.0) if self._due else None
