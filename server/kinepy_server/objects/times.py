"""Instants as the API writes them."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=4)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def timestamp(now_us: int) -> str:
    """RFC 3339 in whole seconds, UTC."""
    return _second(now_us // 1_000_000)
