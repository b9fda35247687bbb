"""How large answers were: what the next of the same kind will take is not known before it is made."""

from typing import Final, TypeAlias

SMALL_BYTES: Final = 64 * 1024
"""Less than this is not counted in advance: as many as are let in at once take little together."""
KINDS_MAX: Final = 4096

Kind: TypeAlias = tuple[str, ...]


class Sizes:
    """The recent size of each kind of answer. What is forgotten is only guessed anew."""

    def __init__(self, unknown_bytes: int) -> None:
        self._unknown = unknown_bytes
        self._known: dict[Kind, int] = {}

    def expected(self, kind: Kind) -> int:
        """How large an answer of this kind will be; 0 when that does not matter."""
        size = self._known.get(kind, self._unknown)
        return size if size > SMALL_BYTES else 0

    def learn(self, kind: Kind, size: int) -> None:
        """An answer of this kind was so large. It grows at once and shrinks slowly."""
        known = self._known.get(kind, 0)
        if not known and len(self._known) >= KINDS_MAX:
            self._known.clear()
        self._known[kind] = size if size >= known else (3 * known + size) // 4
