"""Putting the identity of an aggregated server together, and keeping it as the host has it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from kinepy_server.auth.delegated.access import DelegatedAccess, DelegatedAuthorizer
from kinepy_server.auth.delegated.admission import HostExtensions
from kinepy_server.auth.delegated.authenticator import DelegatedAuthenticator
from kinepy_server.auth.delegated.following import Follower
from kinepy_server.auth.delegated.host import Host, HostError
from kinepy_server.auth.delegated.host_config import BadHostConfig, HostConfig
from kinepy_server.auth.delegated.namespaces import Kept
from kinepy_server.auth.delegated.said import Said, trust_followers
from kinepy_server.auth.delegated.tokens import ReviewedTokens
from kinepy_server.auth.delegated.trust import RequestHeader, Trust
from kinepy_server.auth.guard import Guard
from kinepy_server.auth.identity import Identity
from kinepy_server.auth.tokens import TokenUsers
from kinepy_server.auth.user import User
from kinepy_server.context import Context
from kinepy_server.lasting import in_background

NOT_SERVED: Final = 404
FORBIDDEN: Final = 403
_MAY_READ: Final = (
    "give its user the Role extension-apiserver-authentication-reader in kube-system, and the right to get, list and"
    " watch namespaces and all of admissionregistration.k8s.io; README has the commands"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """Which host is asked, and what is not read there because it was given."""

    host: HostConfig
    request_header: RequestHeader | None = None
    client_ca: str | None = None
    """PEM."""


@asynccontextmanager
async def delegating(
    context: Context, delegation: Delegation, users: Mapping[str, User]
) -> AsyncIterator[Guard]:
    """Set the context's identity and namespaces, and keep them until the block ends. Raises `BadHostConfig`.

    `users` are the server's own, by token.
    """
    settings, clock, random = context.settings, context.clock, context.random
    host = Host(
        delegation.host,
        clock=clock,
        timeout_s=settings.delegation_timeout_s,
        requests_max=settings.delegation_requests_max,
    )
    trust, kept = Trust(), Kept(host, clock=clock)
    said = Said(delegation.request_header, delegation.client_ca)
    keep_s = settings.delegation_cache_s
    tokens = ReviewedTokens(host, keep_s=keep_s, clock=clock, random=random)
    authenticator = DelegatedAuthenticator(trust, tokens, TokenUsers(users), clock=clock)
    authorizer = DelegatedAuthorizer(host, keep_s=keep_s, clock=clock, random=random)
    access = DelegatedAccess(authorizer)
    extensions = HostExtensions(context.extensions)
    try:
        followers = await _begun([*trust_followers(host, trust, said), kept.follower])
        followers += await _begun(extensions.followers(host), optional=True)
        running = [
            in_background(one.run(clock=clock, random=random), name=f"following of the host's {one.path}")
            for one in followers
        ]
        context.host = kept
        context.identity = Identity(
            context.identity.accounts, authorizer, authenticator.token_user, ask_create=access.may_create
        )
        try:
            yield Guard(authenticator, access, TrustedAuthorities(trust))
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
    finally:
        await context.extensions.close()
        await host.close()


async def _begun(followers: Iterable[Follower], *, optional: bool = False) -> list[Follower]:
    """Those that have something to follow; an older host may lack what is optional. Raises `BadHostConfig`."""
    found = []
    for follower in followers:
        try:
            await follower.read()
        except HostError as error:
            if optional and error.code == NOT_SERVED:
                continue
            advice = f": {_MAY_READ}" if error.code == FORBIDDEN else ""
            raise BadHostConfig(f"the host cannot be asked ({error}){advice}") from error
        found.append(follower)
    return found


class TrustedAuthorities:
    """The authorities whose certificates the TLS handshake lets through; the authenticator looks closer."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust

    def attach(self, context: ssl.SSLContext, client_ca: str) -> None:
        """Load them now and after each change. One that is trusted no more still passes the handshake, no further."""
        # As the original, which ends a chain at any certificate of a bundle.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN

        def load() -> None:
            for bundle in (self._trust.proxies, self._trust.clients):
                if bundle:
                    context.load_verify_locations(cadata=bundle.pem)

        self._trust.heard = load
        load()
