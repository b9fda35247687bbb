"""How much is allowed at all: the authorization modes, and what unnamed users may."""

from kinepy_server.auth.authorizer import ALWAYS_ALLOW
from kinepy_server.auth.setup import INSECURE, Security
from kinepy_server.context import Context
from tests.auth.conftest import BINDINGS, USERS, Guarded, guarded_over
from tests.http.writing import CONFIGMAPS


async def test_always_allow_lets_every_known_user_do_everything(memory: Context) -> None:
    async for server in guarded_over(memory, Security(users=USERS, mode=ALWAYS_ALLOW)):
        assert (await server("jane", "GET", CONFIGMAPS)).code == 200
        body = {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}}
        assert (await server("jane", "POST", BINDINGS, body)).code == 201
        assert (await server("", "GET", CONFIGMAPS)).code == 401
        assert (await server("wrong", "GET", CONFIGMAPS)).code == 401


async def test_insecure_asks_nobody(memory: Context) -> None:
    async for server in guarded_over(memory, INSECURE):
        for who in ("", "wrong", "jane"):
            assert (await server(who, "GET", CONFIGMAPS)).code == 200


async def test_rights_in_the_store_count_on_the_next_request(guarded: Guarded) -> None:
    assert (await guarded("jane", "GET", CONFIGMAPS)).code == 403
    rules = [{"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]}]
    role = {"metadata": {"name": "read"}, "rules": rules}
    await guarded("admin", "POST", BINDINGS.replace("rolebindings", "roles"), role)
    await guarded.grant("Role", "read", "jane")
    assert (await guarded("jane", "GET", CONFIGMAPS)).code == 200
    await guarded("admin", "DELETE", f"{BINDINGS}/read-jane")
    await guarded.settled()
    assert (await guarded("jane", "GET", CONFIGMAPS)).code == 403


async def test_a_list_of_one_name_needs_the_right_to_that_name_only(server: Guarded) -> None:
    rules = [
        {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]},
    ]
    await server(
        "admin",
        "POST",
        BINDINGS.replace("rolebindings", "roles"),
        {"metadata": {"name": "r"}, "rules": rules},
    )
    await server.grant("Role", "r", "jane")
    assert (await server("jane", "GET", f"{CONFIGMAPS}?fieldSelector=metadata.name%3Da")).code == 200
    refused = await server("jane", "GET", f"{CONFIGMAPS}?fieldSelector=metadata.name%3Db")
    assert refused.message.startswith('configmaps "b" is forbidden: User "jane" cannot list')
    assert (await server("jane", "GET", CONFIGMAPS)).code == 403


async def test_the_key_of_tokens_is_published(server: Guarded) -> None:
    described = (await server("admin", "GET", "/.well-known/openid-configuration")).body
    assert described["issuer"] == "https://kubernetes.default.svc"
    assert described["jwks_uri"].endswith("/openid/v1/jwks")
    keys = (await server("admin", "GET", "/openid/v1/jwks")).body["keys"]
    assert [key["kid"] for key in keys] == [server.context.identity.accounts.key.id]
    assert (await server("bob", "GET", "/openid/v1/jwks")).code == 403
