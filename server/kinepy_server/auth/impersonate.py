"""Acting as another user by request headers (AUTH-6)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from kinepy_server.auth.authorize import authorize, may, refusal
from kinepy_server.auth.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User
from kinepy_server.errors import bad_request
from kinepy_server.request import Request

PREFIX = "impersonate-"
EXTRA_PREFIX = "impersonate-extra-"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the headers ask for."""

    user: str = ""
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


def authorize_impersonating(request: Request) -> None:
    """As `authorize`, for the user that the headers name if the user of the request may act as that one."""
    for name in request.headers:
        if name[:12] == PREFIX:
            request.user = impersonated(request, wanted(request.headers))
            break
    authorize(request)


def wanted(headers: Mapping[str, str]) -> Wanted:
    """Read the headers. Repeated ones come joined by a comma and a space."""
    groups = headers.get("impersonate-group", "")
    extra = {
        unquote(name.removeprefix(EXTRA_PREFIX)): value.split(", ")
        for name, value in sorted(headers.items())
        if name.startswith(EXTRA_PREFIX)
    }
    return Wanted(
        headers.get("impersonate-user", ""),
        groups.split(", ") if groups else (),
        headers.get("impersonate-uid", ""),
        extra,
    )


def impersonated(request: Request, ask: Wanted) -> User:
    """The user to act as. Raises 400 when none is named, 403 when the request's user may not."""
    if not ask.user:
        if ask.groups or ask.uid or ask.extra:
            raise bad_request(f"requested {_go_syntax(ask)} without impersonating a user name")
        return request.user
    for question in _questions(request, ask):
        if not may(question):
            raise refusal(question)
    return User(ask.user, _groups(ask), ask.uid, ask.extra)


def _questions(request: Request, ask: Wanted) -> Iterator[Request]:
    """One request of the verb `impersonate` for each thing that is asked for, in the original's order."""
    question = replace(
        request,
        is_resource=True,
        verb="impersonate",
        group="",
        version="v1",
        subresource="",
        namespace="",
        name="",
    )
    account = _service_account(ask.user)
    if account is not None:
        yield replace(question, resource="serviceaccounts", namespace=account[0], name=account[1])
    else:
        yield replace(question, resource="users", name=ask.user)
    for group in ask.groups:
        yield replace(question, resource="groups", name=group)
    question = replace(question, group="authentication.k8s.io")
    for key, values in ask.extra.items():
        for value in values:
            yield replace(question, resource="userextras", subresource=key, name=value)
    if ask.uid:
        yield replace(question, resource="uids", name=ask.uid)


def _service_account(user: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user."""
    namespace, colon, name = user.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    return (namespace, name) if user.startswith(SERVICE_ACCOUNT_PREFIX) and colon and name else None


def _groups(ask: Wanted) -> Sequence[str]:
    """The groups of the user to act as: those asked for, and the ones that follow from the name."""
    groups = list(ask.groups)
    account = _service_account(ask.user)
    if account is not None and not groups:
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{account[0]}"]
    if ask.user == ANONYMOUS:
        implied = () if UNAUTHENTICATED in groups else (UNAUTHENTICATED,)
    else:
        implied = () if {AUTHENTICATED, UNAUTHENTICATED} & set(groups) else (AUTHENTICATED,)
    return (*groups, *implied)


def _go_syntax(ask: Wanted) -> str:
    """The request as the original prints it."""
    groups = f"[]string{_go_list(ask.groups)}" if ask.groups else "[]string(nil)"
    pairs = ", ".join(f"{json.dumps(key)}:[]string{_go_list(values)}" for key, values in ask.extra.items())
    extra = f"map[string][]string{{{pairs}}}" if ask.extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{json.dumps(ask.uid)}, Groups:{groups}, Extra:{extra}}}'


def _go_list(texts: Sequence[str]) -> str:
    return "{" + ", ".join(json.dumps(text) for text in texts) + "}"
