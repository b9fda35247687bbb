"""What handlers need to know of users and their rights."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kinepy_server.auth.accounts import AccountTokens
from kinepy_server.auth.actions import Action
from kinepy_server.auth.authorize import refusal
from kinepy_server.auth.authorizer import AlwaysAllow, Authorizer
from kinepy_server.auth.user import User
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource


class WriteCheck(Protocol):
    """Raises the 403 of a write that the user may not do because of what the object says."""

    def __call__(
        self, request: Request, resource: Resource, new: JsonObject, *, old: JsonObject | None
    ) -> None:
        """`old` is the stored object; None on create."""
        ...


def _nobody(token: str) -> User | None:
    return None


@dataclass(slots=True)
class Identity:
    """The parts of a server's identity that handlers use."""

    accounts: AccountTokens
    authorizer: Authorizer = field(default_factory=AlwaysAllow)
    token_user: Callable[[str], User | None] = _nobody
    """Users by the tokens that are kept: the admin's, and those of the token file."""
    write_checks: Mapping[str, WriteCheck] = field(default_factory=dict)
    """By a resource's qualified name."""

    ask_create: Callable[[Request], Awaitable[None]] | None = None
    """Does what `check_create` does where rights are known elsewhere; then it is asked before."""

    async def asked_create(self, request: Request) -> bool:
        """Whether somebody else was asked whether the user may create; raises the 403 when not."""
        if self.ask_create is None:
            return False
        await self.ask_create(request)
        return True

    def check_create(self, request: Request) -> None:
        """Raise the 403 of an update or apply that would create the object, by a user who may not create."""
        action = Action(
            "create", request.group, request.resource, namespace=request.namespace, name=request.name
        )
        if not self.authorizer.allows(request.user, action):
            raise refusal(request.user, action, self.authorizer.explain(request.user, action).reason)

    def check_write(
        self, request: Request, resource: Resource, new: JsonObject, *, old: JsonObject | None
    ) -> None:
        """Raise the 403 of a write by which a user would get more rights than it has."""
        check = self.write_checks.get(resource.qualified)
        if check is not None:
            check(request, resource, new, old=old)
