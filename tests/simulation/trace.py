"""What happened, in order: a hash that tells two runs apart, and lines to read when asked for."""

import hashlib
from collections.abc import Callable


class Trace:
    """Collects one line for each event of a run."""

    def __init__(self, now: Callable[[], float], *, keep: bool = False, echo: bool = False) -> None:
        self._now, self._keep, self._echo = now, keep, echo
        self._digest = hashlib.blake2b(digest_size=12)
        self.lines: list[str] = []

    def __call__(self, text: str) -> None:
        line = f"{self._now():10.4f} {text}"
        self._digest.update(line.encode())
        if self._keep:
            self.lines.append(line)
        if self._echo:
            print(line)

    @property
    def hash(self) -> str:
        """The same for two runs in which the same happened at the same times."""
        return self._digest.hexdigest()
