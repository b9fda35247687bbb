"""The error that every handler raises: a Kubernetes Status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of an Invalid (or other) Status, as in `details.causes`."""

    reason: str
    message: str
    field: str


class StatusError(Exception):
    """A failure with the HTTP code, reason, message and details that the client sees."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after_s: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details, self.retry_after_s = details, retry_after_s
        self.metadata = metadata or {}


class PlainError(Exception):
    """A failure whose body is text/plain, such as `404 page not found`."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """422 Invalid for `causes`, none of them repeated in the message."""
    raise NotImplementedError
