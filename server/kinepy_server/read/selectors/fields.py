"""Field selectors (SEL-4): grammar and error texts.

selector = [ term *( "," term ) ]        empty terms are skipped
term     = label ("=" / "==" / "!=") value, where value escapes `,`, `=` and `\\` by a backslash
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_term = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


class FieldSelectorError(ValueError):
    """The selector cannot be parsed; the text is what the client sees."""


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One comparison: the field's text is `value`, or (unless `equal`) is anything else."""

    label: str
    value: str
    equal: bool


def parse_fields(text: str) -> Sequence[FieldTerm]:
    """The terms of a selector; all must hold. Raises `FieldSelectorError`."""
    # Sorted, as the original does before it looks at them: it decides which of several errors is told.
    return [_parse_term(part, text) for part in sorted(_split(text)) if part]


def _split(text: str) -> Iterator[str]:
    start, escaped = 0, False
    for position, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == ",":
            yield text[start:position]
            start = position + 1
    yield text[start:]


def _parse_term(part: str, whole: str) -> FieldTerm:
    match = _term.fullmatch(part)
    if match is None:
        raise FieldSelectorError(f"invalid selector: '{whole}'; can't understand '{part}'")
    label, operator, value = match.groups()
    return FieldTerm(label, _unescape(value), operator != "!=")


def _unescape(value: str) -> str:
    if not any(character in value for character in "\\,="):
        return value
    found, escaped = [], False
    for character in value:
        if escaped:
            if character not in "\\,=":
                raise FieldSelectorError(f"invalid field selector: invalid escape sequence: \\{character}")
            found.append(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in ",=":
            # The original prints the character's number here.
            raise FieldSelectorError(
                f"invalid field selector: unescaped character in value: {ord(character)}"
            )
        else:
            found.append(character)
    if escaped:
        raise FieldSelectorError("invalid field selector: invalid escape sequence: \\")
    return "".join(found)
