"""Schedules of CronJobs: five fields, or a descriptor such as `@hourly`."""

import re
from collections.abc import Mapping
from functools import cache
from zoneinfo import available_timezones

from kinepy_server.schema.go_numbers import whole_number

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: at for at, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: at for at, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_NO_NAMES: Mapping[str, int] = {}
FIELDS = ((0, 59, _NO_NAMES), (0, 23, _NO_NAMES), (1, 31, _NO_NAMES), (1, 12, _MONTHS), (0, 6, _DAYS))
DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_DURATION = re.compile(r"([+-]?(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))+")


class _Bad(ValueError):
    """The text is no schedule."""


def cron_problem(text: str) -> str:
    """What is wrong with a schedule; empty when nothing is."""
    if "TZ" in text:
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    try:
        _check(text)
    except _Bad as error:
        return str(error)
    return ""


@cache
def _zones() -> set[str]:
    return available_timezones()


def zone_problem(text: str) -> str:
    """What is wrong with the name of a time zone."""
    if not text:
        return "timeZone must be nil or non-empty string"
    if text.lower() == "local":
        return "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    return "" if text in _zones() else f"unknown time zone {text}"


def _check(text: str) -> None:
    if text.startswith("@"):
        every = text.removeprefix("@every ")
        if text not in DESCRIPTORS and (every == text or not _DURATION.fullmatch(every)):
            raise _Bad(f"unrecognized descriptor: {text}")
        return
    fields = text.split()
    if len(fields) != len(FIELDS):
        raise _Bad(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, (least, most, names) in zip(fields, FIELDS, strict=True):
        for part in field.split(","):
            _check_range(part, least, most, names=names)


def _check_range(text: str, least: int, most: int, *, names: Mapping[str, int]) -> None:
    span, *steps = text.split("/")
    first, *last = span.split("-")
    if len(steps) > 1:
        raise _Bad(f"too many slashes: {text}")
    if first in ("*", "?"):
        if last:
            raise _Bad(f"too many hyphens: {text}")
        start, end = least, most
    else:
        if len(last) > 1:
            raise _Bad(f"too many hyphens: {text}")
        start = _number(first, names)
        end = _number(last[0], names) if last else (most if steps else start)
    step = _number(steps[0], _NO_NAMES) if steps else 1
    if start < least:
        raise _Bad(f"beginning of range ({start}) below minimum ({least}): {text}")
    if end > most:
        raise _Bad(f"end of range ({end}) above maximum ({most}): {text}")
    if start > end:
        raise _Bad(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise _Bad(f"step of range should be a positive number: {text}")


def _number(text: str, names: Mapping[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not (text.isascii() and text.removeprefix("-").removeprefix("+").isdigit()):
        raise _Bad(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = whole_number(text)
    if number is None:
        raise _Bad(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    if number < 0:
        raise _Bad(f"negative number ({number}) not allowed: {text}")
    return number
