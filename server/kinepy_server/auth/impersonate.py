"""Acting as another user by request headers (AUTH-6)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from kinepy_server.auth.actions import Action
from kinepy_server.auth.user import (
    ANONYMOUS,
    AUTHENTICATED,
    SERVICE_ACCOUNT_PREFIX,
    UNAUTHENTICATED,
    User,
    service_account_groups,
)
from kinepy_server.errors import bad_request

PREFIX = "impersonate-"
EXTRA_PREFIX = "impersonate-extra-"
_GROUP = "authentication.k8s.io"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the headers ask for."""

    user: str = ""
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


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


def impersonated(user: User, ask: Wanted, *, require: Callable[[User, Action], None]) -> User:
    """The user to act as. `require` raises the 403 of what `user` may not do; 400 when none is named."""
    if not ask.user:
        if ask.groups or ask.uid or ask.extra:
            raise bad_request(f"requested {_go_syntax(ask)} without impersonating a user name")
        return user
    for action in _actions(ask):
        require(user, action)
    return User(ask.user, _groups(ask), ask.uid, ask.extra)


def _actions(ask: Wanted) -> Iterator[Action]:
    """What must be allowed: the verb `impersonate` for each thing that is asked for, in the original's order."""
    account = _service_account(ask.user)
    if account is not None:
        yield Action("impersonate", "", "serviceaccounts", namespace=account[0], name=account[1])
    else:
        yield Action("impersonate", "", "users", name=ask.user)
    for group in ask.groups:
        yield Action("impersonate", "", "groups", name=group)
    for key, values in ask.extra.items():
        for value in values:
            yield Action("impersonate", _GROUP, "userextras", subresource=key, name=value)
    if ask.uid:
        yield Action("impersonate", _GROUP, "uids", name=ask.uid)


def _service_account(user: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user."""
    namespace, colon, name = user.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    return (namespace, name) if user.startswith(SERVICE_ACCOUNT_PREFIX) and colon and name else None


def _groups(ask: Wanted) -> Sequence[str]:
    """The groups of the user to act as: those asked for, and the ones that follow from the name."""
    groups = list(ask.groups)
    account = _service_account(ask.user)
    if account is not None and not groups:
        groups = list(service_account_groups(account[0]))
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
