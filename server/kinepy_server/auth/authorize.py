"""Whether the user of a request may do it, and the 403 that tells what not (AUTH-3)."""

from dataclasses import dataclass

from kinepy_server.auth.actions import Action, Attributes
from kinepy_server.auth.authorizer import Authorizer
from kinepy_server.auth.impersonate import PREFIX, impersonated, wanted
from kinepy_server.auth.user import User
from kinepy_server.errors import StatusError, forbidden
from kinepy_server.request import Request
from kinepy_server.request_info import selected_name

_ON_COLLECTIONS = frozenset(("list", "watch", "deletecollection"))


class Access:
    """Lets requests pass, or raises what forbids them: impersonation first, then the user's own rights."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def __call__(self, request: Request) -> None:
        """Raise the 403 of a request that its user, or the one it acts as, may not do."""
        for name in request.headers:
            if name[:12] == PREFIX:
                request.user = impersonated(request.user, wanted(request.headers), require=self._require)
                break
        if not self._authorizer.allows(request.user, request):
            self._look_closer(request)

    def _look_closer(self, request: Request) -> None:
        """A list that asks for one object by its name needs the right to that one only (HTTP-2)."""
        name = selected_name(request.query) if request.verb in _ON_COLLECTIONS and not request.name else ""
        self._require(request.user, named_action(request, name) if name else request)

    def _require(self, user: User, action: Attributes) -> None:
        if not self._authorizer.allows(user, action):
            raise refusal(user, action, self._authorizer.explain(user, action).reason)


def refusal(user: User, action: Attributes, reason: str = "") -> StatusError:
    """The original's 403."""
    why = escaped(_why(user, action))
    why = f"{why}: {reason}" if reason else why
    if action.is_resource:
        return forbidden(_Asked(action.group, action.resource), action.name, why)
    return StatusError(403, "Forbidden", f"forbidden: {why}", details={})


@dataclass(frozen=True, slots=True)
class _Asked:
    """The resource that a request names, which need not be served: who may not ask is not told."""

    group: str
    plural: str
    kind: str = ""

    @property
    def qualified(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def named_action(request: Request, name: str) -> Action:
    """What a request asks for, if it asked for one object."""
    return Action(
        request.verb,
        request.group,
        request.resource,
        subresource=request.subresource,
        namespace=request.namespace,
        name=name,
    )


def _why(user: User, action: Attributes) -> str:
    if not action.is_resource:
        return f'User "{user.name}" cannot {action.verb} path "{action.path}"'
    resource = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
    scope = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
    return (
        f'User "{user.name}" cannot {action.verb} resource "{resource}" in API group "{action.group}" {scope}'
    )


def escaped(text: str) -> str:
    """A text of which no browser makes HTML, as the original's messages are."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
