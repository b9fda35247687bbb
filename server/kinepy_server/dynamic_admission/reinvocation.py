"""Which policies or webhooks are asked once more, since others have changed the object after them."""

from collections.abc import Hashable
from typing import Any

import orjson


class Reinvocation:
    """What is known of those that were asked in a first round, and who is to be asked in a second one."""

    def __init__(self) -> None:
        self.is_second = False
        self._asked: set[Hashable] = set()
        self._due: set[Hashable] = set()
        self._left: bytes = b""

    def begin_second(self, obj: Any) -> None:
        """A second round begins with an object."""
        self.is_second = True
        if orjson.dumps(obj) != self._left:
            self.changed()

    def end(self, obj: Any) -> None:
        """A round has left an object."""
        self._left = orjson.dumps(obj)

    def takes(self, key: Hashable) -> bool:
        """Whether one is to be asked: in a second round only who was asked before."""
        return not self.is_second or key in self._due

    def asked(self, key: Hashable) -> None:
        """One that wants to be asked again was asked."""
        self._asked.add(key)

    def changed(self) -> None:
        """The object has changed: who was asked before is to be asked again."""
        self._due |= self._asked
        self._asked = set()
