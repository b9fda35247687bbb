"""Ages as people read them: `5m`, `3d4h`."""

from datetime import datetime

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY
UNKNOWN, INVALID = "<unknown>", "<invalid>"


def human_duration(seconds: float) -> str:
    """A span of time in at most two units, the second one left out when it is zero or too fine to matter."""
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole >= -1 else INVALID
    if whole < 2 * MINUTE:
        return f"{whole}s"
    if whole < 10 * MINUTE:
        return _two(whole, (MINUTE, "m"), (1, "s"))
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _two(whole, (HOUR, "h"), (MINUTE, "m"))
    if whole < 2 * DAY:
        return f"{whole // HOUR}h"
    if whole < 8 * DAY:
        return _two(whole, (DAY, "d"), (HOUR, "h"))
    if whole < 2 * YEAR:
        return f"{whole // DAY}d"
    if whole < 8 * YEAR:
        return _two(whole, (YEAR, "y"), (DAY, "d"))
    return f"{whole // YEAR}y"


def since(timestamp: object, now: float) -> str:
    """The age of an RFC 3339 time at an instant; `<unknown>` when there is none."""
    if not isinstance(timestamp, str) or not timestamp:
        return UNKNOWN
    return human_duration(now - datetime.fromisoformat(timestamp).timestamp())


def _two(seconds: int, coarse: tuple[int, str], fine: tuple[int, str]) -> str:
    rest = seconds % coarse[0] // fine[0]
    first = f"{seconds // coarse[0]}{coarse[1]}"
    return f"{first}{rest}{fine[1]}" if rest else first
