"""What the tests of identity share: servers with users and rights, over fresh stores."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from kinepy import open_store
from kinepy_server.app import create_app
from kinepy_server.auth.authenticate import ADMIN
from kinepy_server.auth.authorizer import RBAC
from kinepy_server.auth.oidc import oidc_pages
from kinepy_server.auth.rbac.authorizer import RbacAuthorizer
from kinepy_server.auth.setup import Security, guarding
from kinepy_server.auth.user import authenticated
from kinepy_server.context import Context
from kinepy_server.controllers import running_controllers
from kinepy_server.resources.builtins import builtin_registry
from tests.http.writing import Api, Reply

USERS = {
    "admin-token": ADMIN,
    "jane-token": authenticated("jane", ["devs"], uid="u1"),
    "bob-token": authenticated("bob"),
}
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
CLUSTER_BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


@dataclass(frozen=True)
class Guarded:
    """An application with users."""

    api: Api
    context: Context

    async def __call__(
        self, who: str, method: str, target: str, body: object = None, **options: str
    ) -> Reply:
        """A request of a user, or of whoever has the token `who`; of nobody when it is empty."""
        token = f"{who}-token" if f"{who}-token" in USERS else who
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return await self.api(method, target, body, headers=headers, **options)

    async def settled(self) -> None:
        """Wait until rights are known as the store has them now."""
        revision = await self.context.store.current_revision()
        authorizer = self.context.identity.authorizer
        assert isinstance(authorizer, RbacAuthorizer)
        for mirror in authorizer.mirrors:
            await mirror.wait_for(revision)

    async def grant(self, kind: str, name: str, user: str) -> None:
        """Bind a role to a user, in the namespace default, or everywhere for a kind of `Cluster`."""
        subjects = [{"kind": "User", "name": user}]
        cluster = kind == "Cluster"
        body = {
            "metadata": {"name": f"{name}-{user}"},
            "roleRef": {"kind": "ClusterRole" if cluster else kind, "name": name},
            "subjects": subjects,
        }
        reply = await self("admin", "POST", CLUSTER_BINDINGS if cluster else BINDINGS, body)
        assert reply.code == 201, reply.content
        await self.settled()


async def guarded_over(context: Context, security: Security) -> AsyncIterator[Guarded]:
    """The application over a context."""
    async with guarding(context, security) as guard:
        app = create_app(
            context,
            authenticate=guard.authenticate,
            authorize=guard.authorize,
            pages=oidc_pages(),
            controllers=(),
        )
        async with running_controllers(context, ()):
            yield Guarded(Api(app), context)


@pytest.fixture
async def guarded(context: Context) -> AsyncIterator[Guarded]:
    """A server with users over a fresh store of each kind."""
    async for found in guarded_over(context, Security(users=USERS, mode=RBAC)):
        yield found


@pytest.fixture
async def context(database_url: str) -> AsyncIterator[Context]:
    """What handlers share, over a fresh store of each kind."""
    async with open_store(database_url) as store:
        yield Context(store, builtin_registry())


@pytest.fixture
async def memory() -> AsyncIterator[Context]:
    """What handlers share, over a store in memory."""
    async with open_store("sqlite:///:memory:") as store:
        yield Context(store, builtin_registry())


@pytest.fixture
async def server(memory: Context) -> AsyncIterator[Guarded]:
    """A server with users, over memory."""
    async for found in guarded_over(memory, Security(users=USERS, mode=RBAC)):
        yield found
