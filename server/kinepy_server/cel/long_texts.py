"""Long expressions are read elsewhere: a hundred thousand characters take a second.

What wants them read decides once more when they are, see `kinepy_server.resources.waiting`.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from kinepy_server.cel.off_loop import elsewhere
from kinepy_server.resources.waiting import ANSWERS, Needed

Result = TypeVar("Result")
LONG_CHARACTERS = 4096
"""So many are read in tens of milliseconds at most."""
_RULES = "x-kubernetes-validations"


class TooLongNow(Needed):
    """Expressions are to be read elsewhere."""

    def __init__(self, key: Hashable, read: Callable[[], Any]) -> None:
        super().__init__(500, "", "the expressions of the object are too long")
        self._key, self._read = key, read

    async def supply(self) -> None:
        """Read them, for whoever asks the same again."""
        answers = ANSWERS.get()
        assert answers is not None, "raised only where there is somebody who asks again"
        answers[self._key] = await elsewhere(self._read)


def read_patiently(characters: int, key: Callable[[], Hashable], read: Callable[[], Result]) -> Result:
    """What reading expressions gives, which have so many characters in all. Raises TooLongNow if that keeps others
    waiting, and there is somebody who asks again."""
    answers = ANSWERS.get()
    if characters <= LONG_CHARACTERS or answers is None:
        return read()
    known = key()
    if known not in answers:
        raise TooLongNow(known, read)
    found: Result = answers[known]
    return found


def characters_of(value: Any) -> int:
    """How many characters the expressions of a part of a policy have."""
    if isinstance(value, Mapping):
        return sum(
            len(member)
            if isinstance(member, str) and name.lower().endswith("expression")
            else characters_of(member)
            for name, member in value.items()
        )
    return sum(map(characters_of, value)) if isinstance(value, list) else 0


def characters_of_rules(schema: Any) -> int:
    """How many characters the rules of a schema have."""
    if not isinstance(schema, Mapping):
        return 0
    below = (
        *(schema.get("properties") or {}).values(),
        schema.get("items"),
        schema.get("additionalProperties"),
    )
    return sum(
        len(rule.get("rule", "")) + len(rule.get("messageExpression", ""))
        for rule in schema.get(_RULES) or ()
    ) + sum(map(characters_of_rules, below))
