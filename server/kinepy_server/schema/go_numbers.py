"""Whole numbers in texts, as the original reads them: of 64 bits, however many digits somebody has sent."""

import re
from typing import Final

INT64_MIN: Final = -(1 << 63)
INT64_MAX: Final = (1 << 63) - 1
UINT64_MAX: Final = (1 << 64) - 1
_DECIMAL = re.compile(r"([+-]?)0*([0-9]+)")
_DIGITS_MAX: Final = 20


def whole_number(text: str, *, low: int = INT64_MIN, high: int = INT64_MAX) -> int | None:
    """The number that decimal digits are, maybe with a sign; None for anything else, and for one out of bounds.

    int() takes digits of other scripts, and spaces, and raises for thousands of digits.
    """
    match = _DECIMAL.fullmatch(text)
    if match is None or len(match[2]) > _DIGITS_MAX:
        return None
    number = -int(match[2]) if match[1] == "-" else int(match[2])
    return number if low <= number <= high else None
