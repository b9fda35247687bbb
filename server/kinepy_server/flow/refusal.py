"""The answer to what is not let in, made beforehand: there are many of them just when there is no time for them."""

from typing import Final

from kinepy_server.answer import Send
from kinepy_server.errors import PlainError
from kinepy_server.response import TEXT, Response

RETRY_AFTER_S: Final = 1
TEXT_OF_IT: Final = "Too many requests, please try again later.\n"
BODY: Final = TEXT_OF_IT.encode()

REFUSED: Final = Response(429, BODY, TEXT, {"retry-after": str(RETRY_AFTER_S)})
"""Stands for the answer; `send_refusal` sends it. To HEAD it is an answer like others."""

_HEADERS: Final = (
    (b"content-type", TEXT.encode()),
    (b"cache-control", b"no-cache, private"),
    (b"retry-after", b"%d" % RETRY_AFTER_S),
    (b"x-content-type-options", b"nosniff"),
    (b"content-length", b"%d" % len(BODY)),
)
_LAST: Final = {"type": "http.response.body", "body": BODY}


class TooMany(PlainError):
    """429 as the original says it: in text (LIM-2)."""

    def __init__(self) -> None:
        super().__init__(429, TEXT_OF_IT, retry_after_s=RETRY_AFTER_S)


async def send_refusal(audit_id: str, send: Send) -> None:
    """Send what `TooMany` would be answered with."""
    headers = [(b"audit-id", audit_id.encode("latin-1")), *_HEADERS]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send(_LAST)
