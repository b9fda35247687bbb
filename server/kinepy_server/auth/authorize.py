"""Whether a user may do a request (AUTH-3): the admins everything, others what the public rules say."""

from collections.abc import Sequence
from dataclasses import dataclass

from kinepy_server.auth.user import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from kinepy_server.errors import StatusError, forbidden
from kinepy_server.request import Request


@dataclass(frozen=True, slots=True)
class PathRule:
    """Members of a group may `get` paths; a pattern that ends with `*` stands for all that begin like it."""

    group: str
    paths: Sequence[str]

    def allows(self, path: str) -> bool:
        """Whether the rule covers a path."""
        return any(
            path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern
            for pattern in self.paths
        )


HEALTH = ("/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*", "/version", "/version/")
DISCOVERY = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*")

# What the original's bootstrap roles `system:public-info-viewer` and `system:discovery` grant.
PUBLIC_RULES = (
    PathRule(UNAUTHENTICATED, HEALTH),
    PathRule(AUTHENTICATED, HEALTH + DISCOVERY),
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The resource that a request names, which need not be served: who may not ask is not told."""

    group: str
    plural: str
    kind: str = ""

    @property
    def qualified(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def authorize(request: Request) -> None:
    """Raise the 403 that tells a user what it may not do."""
    if not may(request):
        raise refusal(request)


def may(request: Request) -> bool:
    """Whether the request's user may do it."""
    groups = request.user.groups
    if MASTERS in groups:
        return True
    if request.is_resource or request.method not in ("GET", "HEAD"):
        return False
    return any(rule.group in groups and rule.allows(request.path) for rule in PUBLIC_RULES)


def refusal(request: Request) -> StatusError:
    """The original's 403 for a request."""
    why = _escaped(_why(request))
    if request.is_resource:
        return forbidden(_Asked(request.group, request.resource), request.name, why)
    return StatusError(403, "Forbidden", f"forbidden: {why}", details={})


def _why(request: Request) -> str:
    user = request.user.name
    if not request.is_resource:
        return f'User "{user}" cannot {request.verb} path "{request.path}"'
    resource = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
    scope = f'in the namespace "{request.namespace}"' if request.namespace else "at the cluster scope"
    return f'User "{user}" cannot {request.verb} resource "{resource}" in API group "{request.group}" {scope}'


def _escaped(text: str) -> str:
    # The original guards against browsers that show the message as HTML.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
