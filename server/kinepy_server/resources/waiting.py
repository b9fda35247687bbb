"""Decisions that need something which must be waited for.

A decision is a plain function and cannot wait. It raises what it needs; whoever asked for the decision supplies it
and asks again, see `kinepy_server.objects.conversion.converting`.
"""

from contextvars import ContextVar
from typing import Any

from kinepy_server.errors import StatusError

ANSWERS: ContextVar[dict[Any, Any] | None] = ContextVar("answers", default=None)
"""What was supplied so far, by what it answers; None when nobody would ask again."""


class Needed(StatusError):
    """Something is needed for a decision. Who cannot wait for it answers 500."""

    async def supply(self) -> None:
        """Get it."""
        raise NotImplementedError
