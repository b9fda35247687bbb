"""Every active namespace has its service account and the certificate to trust the server by (NS-1)."""

from typing import Any

from kinepy_server.context import Context
from kinepy_server.controllers.bootstrap import NAMESPACES
from kinepy_server.served import Served
from tests.controllers.objects import key_of, until
from tests.http.writing import Api, api_over

CONTROLLERS = ["rootca", "serviceaccounts"]
CA = "kube-root-ca.crt"
PEM = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"


def account(namespace: str) -> bytes:
    return f"/registry/serviceaccounts/{namespace}/default".encode()


def trusting(context: Context) -> Context:
    context.served = Served(root_ca=PEM)
    return context


async def make(api: Api, name: str) -> None:
    assert (await api.post("/api/v1/namespaces", {"metadata": {"name": name}})).code == 201


async def furnished(context: Context, *namespaces: str) -> dict[bytes, Any]:
    """Wait until namespaces have what they are to have."""
    wanted = [key for name in namespaces for key in (account(name), key_of(CA, name))]
    return await until(context, lambda objects: all(key in objects for key in wanted))


async def test_namespaces_old_and_new_are_furnished(context: Context) -> None:
    async with api_over(trusting(context), controllers=CONTROLLERS) as api:
        await make(api, "n")
        await furnished(context, *NAMESPACES, "n")
        reply = await api.get(f"/api/v1/namespaces/n/configmaps/{CA}")
        assert reply.body["data"] == {"ca.crt": PEM}


async def test_what_is_deleted_comes_back(context: Context) -> None:
    async with api_over(trusting(context), controllers=CONTROLLERS) as api:
        before = await furnished(context, "default")
        for path in ("serviceaccounts/default", f"configmaps/{CA}"):
            await api.delete(f"/api/v1/namespaces/default/{path}")
        keys = (account("default"), key_of(CA))
        await until(
            context,
            lambda now: all(now.get(key, before[key])["uid"] != before[key]["uid"] for key in keys),
        )


async def test_a_falsified_certificate_is_corrected(context: Context) -> None:
    async with api_over(trusting(context), controllers=CONTROLLERS) as api:
        await furnished(context, "default")
        path = f"/api/v1/namespaces/default/configmaps/{CA}"
        changed = await api.patch(path, {"data": {"ca.crt": "false"}})
        await until(context, lambda now: _is_newer(now[key_of(CA)], changed))
        assert (await api.get(path)).body["data"] == {"ca.crt": PEM}


def _is_newer(metadata: Any, reply: Any) -> bool:
    """The correction is a write of another manager."""
    managers = [entry["manager"] for entry in metadata["managedFields"]]
    return managers != [entry["manager"] for entry in reply.body["metadata"]["managedFields"]]


async def test_a_dying_namespace_gets_nothing(context: Context) -> None:
    async with api_over(trusting(context), controllers=CONTROLLERS) as api:
        await make(api, "n")
        await furnished(context, "n")
        await api.delete("/api/v1/namespaces/n")
        await api.delete("/api/v1/namespaces/n/serviceaccounts/default")
        await make(api, "later")
        objects = await furnished(context, "later")
        assert account("n") not in objects


async def test_without_a_certificate_none_is_published(context: Context) -> None:
    async with api_over(context, controllers=CONTROLLERS):
        objects = await until(context, lambda found: account("default") in found)
        assert not [key for key in objects if key.startswith(b"/registry/configmaps/")]


async def test_two_servers_furnish_once(two_contexts: tuple[Context, Context]) -> None:
    one, other = map(trusting, two_contexts)
    async with (
        api_over(one, controllers=CONTROLLERS) as api,
        api_over(other, controllers=CONTROLLERS),
    ):
        await make(api, "n")
        await furnished(other, *NAMESPACES, "n")
        kv = await one.store.get(account("n"))
        assert kv is not None
        assert kv.version == 1
