"""Where to look for a batch whose fate is not known."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from kinepy.revision import Revision

_KEPT_MAX: Final = 1000


class UnknownBatches:
    """The revision after which each batch of unknown fate would lie, so that only newer rows are searched."""

    def __init__(self) -> None:
        self._after: OrderedDict[int, Revision] = OrderedDict()

    def remember(self, batches: Iterable[int], *, after: Revision) -> None:
        """Batches began when the store stood at `after`."""
        for batch in batches:
            self._after[batch] = after
        while len(self._after) > _KEPT_MAX:
            self._after.popitem(last=False)

    def after(self, batch: int) -> Revision:
        """A revision that is before the batch; 0 when nothing is known of it."""
        return self._after.get(batch, Revision(0))
