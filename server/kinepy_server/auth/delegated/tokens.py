"""Users by token: the host reviews it (TokenReview)."""

import logging
from collections.abc import Awaitable, Mapping
from random import Random
from typing import Any, Final

from kinepy.clock import Clock
from kinepy_server.auth.delegated.answers import Answers
from kinepy_server.auth.delegated.host import Host, HostError
from kinepy_server.auth.delegated.retrying import persistently
from kinepy_server.auth.tokens import token_digest
from kinepy_server.auth.user import User, authenticated

_log = logging.getLogger("kinepy.delegation")
PATH: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
KEPT_MAX: Final = 4096


class ReviewedTokens:
    """Keeps the host's answers for a short while, never under the token itself."""

    def __init__(self, host: Host, *, keep_s: float, clock: Clock, random: Random) -> None:
        self._host, self._clock, self._random = host, clock, random
        self._digest = token_digest()
        self._answers: Answers[bytes, tuple[User | None]] = Answers(
            clock, keep_s=keep_s, answers_max=KEPT_MAX
        )

    def user(self, token: str) -> "User | Awaitable[User | None] | None":
        """The user of a token, None when the host does not take it; to be awaited where the host is asked."""
        digest = self._digest(token)
        known = self._answers.known(digest)
        return known[0] if known is not None else self._review(token, digest)

    async def _review(self, token: str, digest: bytes) -> User | None:
        async def ask() -> tuple[User | None]:
            body = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "metadata": {},
                "spec": {"token": token},
            }
            answer = await persistently(self._host, PATH, body, clock=self._clock, random=self._random)
            return (_user(answer.get("status") or {}),)

        try:
            return (await self._answers.ask(digest, ask))[0]
        except HostError as error:
            # As in the original: who cannot be known is not let in.
            _log.warning("a token could not be reviewed: %s", error)
            return None


def _user(status: Mapping[str, Any]) -> User | None:
    if not status.get("authenticated"):
        return None
    said = status.get("user") or {}
    extra = {key: tuple(values or ()) for key, values in (said.get("extra") or {}).items()}
    return authenticated(
        said.get("username", ""), said.get("groups") or (), uid=said.get("uid", ""), extra=extra
    )
