"""Whether the host lets the user of a request do it (SubjectAccessReview)."""

import logging
from collections.abc import Awaitable, Mapping
from random import Random
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from kinepy.clock import Clock
from kinepy_server.auth.actions import Action, Attributes
from kinepy_server.auth.authorize import escaped, named_action, refusal
from kinepy_server.auth.authorizer import Decision, Held
from kinepy_server.auth.delegated.answers import Answers
from kinepy_server.auth.delegated.host import Host, HostError
from kinepy_server.auth.delegated.questions import Query, is_short, question
from kinepy_server.auth.delegated.retrying import persistently
from kinepy_server.auth.impersonate import PREFIX, impersonated, wanted
from kinepy_server.auth.user import MASTERS, User
from kinepy_server.errors import PlainError
from kinepy_server.request import Request
from kinepy_server.request_info import selected_name

_log = logging.getLogger("kinepy.delegation")
PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
OPEN_PATHS: Final = frozenset(("/healthz", "/livez", "/readyz"))
KEPT_MAX: Final = 8192
_ON_COLLECTIONS = frozenset(("list", "watch", "deletecollection"))


class DelegatedAuthorizer:
    """The host's answers, each kept for a short while."""

    def __init__(self, host: Host, *, keep_s: float, clock: Clock, random: Random) -> None:
        self._host, self._clock, self._random = host, clock, random
        self._answers: Answers[bytes, Decision] = Answers(clock, keep_s=keep_s, answers_max=KEPT_MAX)

    def decide(
        self, user: User, action: Attributes, *, version: str = "", query: Query | None = None
    ) -> Decision | Awaitable[Decision]:
        """The decision; to be awaited where the host is asked, which raises `HostError`."""
        if MASTERS in user.groups or (not action.is_resource and action.path in OPEN_PATHS):
            return Decision(True)
        spec = question(user, action, version=version, query=query)
        key = orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)
        known = self._answers.known(key)
        return known if known is not None else self._ask(key, spec, keep=is_short(spec))

    async def _ask(self, key: bytes, spec: Mapping[str, Any], *, keep: bool) -> Decision:
        async def ask() -> Decision:
            body = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "metadata": {},
                "spec": spec,
            }
            answer = await persistently(self._host, PATH, body, clock=self._clock, random=self._random)
            status = answer.get("status") or {}
            allowed = bool(status.get("allowed")) and not status.get("denied")
            return Decision(allowed, status.get("reason") or "")

        return await self._answers.ask(key, ask, keep=keep)

    # --- what others ask, from memory: what the host was not asked is not allowed

    def allows(self, user: User, action: Attributes) -> bool:
        """Whether the host is known to allow it."""
        return self.explain(user, action).allowed

    def explain(self, user: User, action: Attributes) -> Decision:
        """The same, with the reason."""
        found = self.decide(user, action)
        if isinstance(found, Decision):
            return found
        found.close()  # type: ignore[attr-defined]  # a coroutine that has not begun
        return Decision(False, "the host was not asked")

    def held(self, user: User, namespace: str) -> Held:
        """The host tells no rules, it answers questions."""
        return Held((), "webhook authorizer does not support user rule resolution")

    def referred(self, kind: str, name: str, namespace: str) -> Held:
        """Roles are the host's affair."""
        return Held(())

    def problem(self) -> str:
        """None: each request that needs the host tells by itself that it is away."""
        return ""


class DelegatedAccess:
    """Lets requests pass, or raises what forbids them: impersonation first, then the user's own rights."""

    def __init__(self, authorizer: DelegatedAuthorizer) -> None:
        self._authorizer = authorizer

    def __call__(self, request: Request) -> Awaitable[None] | None:
        """None when the request may pass; else to be awaited, which raises what forbids it."""
        for name in request.headers:
            if name[:12] == PREFIX:
                return self._impersonated(request)
        found = self._decision(request)
        if isinstance(found, Decision) and found.allowed:
            return None
        return self._settled(request, asked_of(request), found)

    async def may_create(self, request: Request) -> None:
        """Raise the 403 of an apply that would create the object, by a user who may not create."""
        action = Action(
            "create", request.group, request.resource, namespace=request.namespace, name=request.name
        )
        await self._require(request, action)

    def _decision(self, request: Request) -> Decision | Awaitable[Decision]:
        return self._authorizer.decide(
            request.user, asked_of(request), version=request.version, query=request.query
        )

    async def _impersonated(self, request: Request) -> None:
        needed: list[Action] = []
        user = impersonated(
            request.user, wanted(request.headers), require=lambda _, action: needed.append(action)
        )
        for action in needed:
            await self._require(request, action)
        request.user = user
        await self._settled(request, asked_of(request), self._decision(request))

    async def _require(self, request: Request, action: Action) -> None:
        version = request.version if action.group == request.group else ""
        await self._settled(request, action, self._authorizer.decide(request.user, action, version=version))

    async def _settled(
        self, request: Request, action: Attributes, found: Decision | Awaitable[Decision]
    ) -> None:
        try:
            decision = found if isinstance(found, Decision) else await found
        except HostError as error:
            _log.error("the host could not be asked for rights: %s", error)
            raise internal(request, str(error)) from None
        if not decision.allowed:
            raise refusal(request.user, action, decision.reason)


def asked_of(request: Request) -> Attributes:
    """What a request asks for; a list of one object by its name asks for that one only (HTTP-2)."""
    if request.verb in _ON_COLLECTIONS and not request.name:
        name = selected_name(request.query)
        if name:
            return named_action(request, name)
    return request


def internal(request: Request, why: str) -> PlainError:
    """The original's 500 where rights cannot be found out."""
    query = urlencode(request.query, doseq=True)
    target = quote(request.path, safe="/:@!$&'()*+,;=~") + (f"?{query}" if query else "")
    return PlainError(500, escaped(f"Internal Server Error: {orjson.dumps(target).decode()}: {why}") + "\n")
