"""Putting a server's identity together: what is known before the store is open, and what follows the store."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kinepy_server.auth.accounts import AccountTokens
from kinepy_server.auth.authenticate import NOBODY, Authenticator, EveryoneIsAdmin
from kinepy_server.auth.authorize import Access
from kinepy_server.auth.authorizer import ALWAYS_ALLOW, RBAC, AlwaysAllow, Authorizer
from kinepy_server.auth.certificates import CertificateUsers
from kinepy_server.auth.guard import Guard
from kinepy_server.auth.identity import Identity
from kinepy_server.auth.rbac.bootstrap import make_bootstrap_policy
from kinepy_server.auth.rbac.escalation import escalation_checks
from kinepy_server.auth.rbac.following import following_rbac
from kinepy_server.auth.user import User
from kinepy_server.context import Context

if TYPE_CHECKING:
    from kinepy_server.auth.delegated.setup import Delegation
    from kinepy_server.auth.front_proxy import FrontProxy
    from kinepy_server.auth.signing import SigningKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """How a server finds out who asks, and what it lets them do."""

    users: Mapping[str, User] = field(default_factory=dict, repr=False)
    """By token."""
    find_key: "Callable[[], SigningKey] | None" = None
    """The key for tokens of service accounts; one that lives as long as the process when it is None."""
    everyone_is_admin: bool = False
    mode: str = RBAC
    find_front_proxy: "Callable[[], FrontProxy] | None" = None
    """The certificate by which backends know the server; one that lives as long as the process when it is None."""
    delegation: "Delegation | None" = None
    """Where another server knows users and rights."""


INSECURE = Security(everyone_is_admin=True, mode=ALWAYS_ALLOW)


@asynccontextmanager
async def guarding(context: Context, security: Security) -> AsyncIterator[Guard]:
    """Set the context's identity, and keep it as the store, or the host, has it until the block ends."""
    if security.delegation is not None:
        from kinepy_server.auth.delegated.setup import delegating

        async with delegating(context, security.delegation, security.users) as guard:
            yield guard
        return
    accounts = context.identity.accounts
    if security.find_key is not None:
        accounts = AccountTokens(security.find_key, context.store, context.registry, clock=context.clock)
    certificates = None if security.everyone_is_admin else CertificateUsers(context.clock)
    authenticator = _authenticator(security, accounts, certificates)
    async with _authorizer(context, security.mode) as authorizer:
        checks = escalation_checks(authorizer) if security.mode == RBAC else {}
        context.identity = Identity(accounts, authorizer, authenticator.token_user, checks)
        yield Guard(authenticator, Access(authorizer), certificates)


def _authenticator(
    security: Security, accounts: AccountTokens, certificates: CertificateUsers | None
) -> Authenticator | EveryoneIsAdmin:
    if security.everyone_is_admin:
        return EveryoneIsAdmin()
    # As in the original: where everything is allowed, at least nobody is let in without a name.
    anonymous = NOBODY if security.mode == RBAC else None
    return Authenticator(security.users, accounts=accounts, certificates=certificates, anonymous=anonymous)


@asynccontextmanager
async def _authorizer(context: Context, mode: str) -> AsyncIterator[Authorizer]:
    if mode == ALWAYS_ALLOW:
        yield AlwaysAllow()
        return
    await make_bootstrap_policy(context)
    async with following_rbac(context.store, context.registry) as authorizer:
        yield authorizer
