"""The user of a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ANONYMOUS = "system:anonymous"
UNAUTHENTICATED = "system:unauthenticated"
AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"
SERVICE_ACCOUNTS = "system:serviceaccounts"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """An authenticated (or the anonymous) user."""

    name: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


def service_account_groups(namespace: str) -> Sequence[str]:
    """The groups of a namespace's service accounts, besides that of all who are authenticated."""
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"


def authenticated(
    name: str, groups: Sequence[str] = (), *, uid: str = "", extra: Mapping[str, Sequence[str]] | None = None
) -> User:
    """A user with the group that all authenticated users are in."""
    return User(name, tuple(dict.fromkeys((*groups, AUTHENTICATED))), uid, extra or {})
