"""Rules of an object that take long are checked elsewhere, and the object is decided upon once more."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import orjson

from kinepy_server.cel.off_loop import AtOnce, Unfinished, elsewhere
from kinepy_server.cel.rules import Rules
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.waiting import ANSWERS, Needed

_SORTED = orjson.OPT_SORT_KEYS
_NAMES = ("name", "generateName")


class Postponed(Needed):
    """The rules of an object are to be checked elsewhere."""

    def __init__(self, rules: Rules, new: JsonObject, old: JsonObject | None) -> None:
        super().__init__(500, "", "the validation rules of the object take too long")
        self._key = _key(new, old)
        self._validate = partial(rules.validate, new, old, at_once=AtOnce(math.inf))

    async def supply(self) -> None:
        """Check them, for whoever asks the same again."""
        answers = ANSWERS.get()
        assert answers is not None, "raised only where there is somebody who asks again"
        answers[self._key] = await elsewhere(self._validate)


def validated(rules: Rules, new: JsonObject, old: JsonObject | None) -> Sequence[FieldError]:
    """What rules say of an object. Raises Postponed if that takes longer than others should wait, and there is
    somebody who asks again."""
    answers = ANSWERS.get()
    if answers is None:
        return rules.validate(new, old)
    if answers and (found := answers.get(_key(new, old))) is not None:
        errors: Sequence[FieldError] = found
        return errors
    try:
        return rules.validate(new, old, at_once=AtOnce())
    except Unfinished:
        raise Postponed(rules, new, old) from None


def _key(new: JsonObject, old: JsonObject | None) -> bytes:
    """What rules see of an object: of its metadata only names."""
    return orjson.dumps((_seen(new), _seen(old)), option=_SORTED)


def _seen(obj: JsonObject | None) -> Any:
    if obj is None:
        return None
    return {**obj, "metadata": [obj["metadata"].get(name) for name in _NAMES]}
