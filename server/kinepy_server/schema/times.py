"""Times as the API writes them: whole seconds (`Time`) or exactly six digits (`MicroTime`), always in UTC.

Nearly all times come well formed; those take one regular expression. What it does not match is read step by
step as the original reads it, for its leniency and its error texts.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

ZERO = "0001-01-01T00:00:00"
"""The zero time counts as no time."""

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
_SECONDS = re.compile(_DATE + "Z")
_MICRO = re.compile(_DATE + r"\.[0-9]{6}Z")
_LAYOUTS = {False: "2006-01-02T15:04:05Z07:00", True: "2006-01-02T15:04:05.000000Z07:00"}
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def time_text(text: str, *, micro: bool) -> str | None:
    """The canonical form of a time; None for the zero time. Raises ValueError with the original's text."""
    if (_MICRO if micro else _SECONDS).fullmatch(text) and _plausible(text):
        return None if text.startswith(ZERO) and not text[20:-1].strip("0") else text
    moment = _Reader(text, micro=micro).read()
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f'parsing time "{text}": year out of range') from None
    date = f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}"
    if date == ZERO and not (micro and moment.microsecond):
        return None
    return f"{date}.{moment.microsecond:06d}Z" if micro else f"{date}Z"


def _plausible(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


class _Reader:
    """Reads a time by its layout, element by element."""

    def __init__(self, text: str, *, micro: bool) -> None:
        self.text, self.rest, self.micro = text, text, micro

    def read(self) -> datetime:
        year = self._digits("2006", 4)
        month, day, hour, minute, second = self._fields()
        micros = self._fraction()
        offset = self._offset()
        if self.rest:
            raise self._error(f": extra text: {_quote(self.rest)}")
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        if not 1 <= day <= _DAYS[month - 1] + (leap and month == 2):
            raise self._error(": day out of range")
        if year == 0:
            raise self._error(": year out of range")
        zone = datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC)
        try:
            return zone - offset
        except OverflowError:
            raise self._error(": year out of range") from None

    def _fields(self) -> Iterator[int]:
        steps = (
            ("-", "01", 1, 12, "month"),
            ("-", "02", 0, 99, "day"),
            ("T", "15", 0, 23, "hour"),
            (":", "04", 0, 59, "minute"),
            (":", "05", 0, 59, "second"),
        )
        for separator, element, least, most, name in steps:
            self._literal(separator)
            one_digit = element == "15" and not self.rest[1:2].isdigit()
            value = self._digits(element, 1 if one_digit else 2)
            if not least <= value <= most:
                raise self._error(f": {name} out of range")
            yield value

    def _digits(self, element: str, count: int) -> int:
        found = self.rest[:count]
        if len(found) < count or not (found.isascii() and found.isdigit()):
            raise self._error(f": cannot parse {_quote(self.rest)} as {_quote(element)}", whole=True)
        self.rest = self.rest[count:]
        return int(found)

    def _literal(self, text: str) -> None:
        if not self.rest.startswith(text):
            raise self._error(f": cannot parse {_quote(self.rest)} as {_quote(text)}", whole=True)
        self.rest = self.rest[len(text) :]

    def _fraction(self) -> int:
        """Exactly six digits in a MicroTime; any number of them, dropped, in a Time."""
        if self.micro:
            found = self.rest[1:7]
            if self.rest[:1] not in (".", ",") or len(found) < 6 or not (found.isascii() and found.isdigit()):
                raise self._error(f": cannot parse {_quote(self.rest)} as {_quote('.000000')}", whole=True)
            self.rest = self.rest[7:]
            return int(found)
        dropped = re.match(r"[.,][0-9]+", self.rest)
        if dropped:
            self.rest = self.rest[dropped.end() :]
        return 0

    def _offset(self) -> timedelta:
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return timedelta()
        found = re.match(r"([+-])([0-9]{2}):([0-9]{2})", self.rest)
        if not found:
            raise self._error(f": cannot parse {_quote(self.rest)} as {_quote('Z07:00')}", whole=True)
        hours, minutes = int(found[2]), int(found[3])
        if hours > 24 or minutes > 60:
            raise self._error(f": time zone offset {'hour' if hours > 24 else 'minute'} out of range")
        self.rest = self.rest[6:]
        return timedelta(hours=hours, minutes=minutes) * (-1 if found[1] == "-" else 1)

    def _error(self, detail: str, *, whole: bool = False) -> ValueError:
        layout = f" as {_quote(_LAYOUTS[self.micro])}" if whole else ""
        return ValueError(f"parsing time {_quote(self.text)}{layout}{detail}")


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
