"""Drawing another name changes nothing but the name."""

from random import Random

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.objects.names import generated_name
from kinepy_server.resources.builtins import builtin_registry
from tests.admission.hooks import hook_server, patching
from tests.admission.objects import put_in_force, webhook, webhooks
from tests.http.writing import CORE, api_over

LIMITS = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "l"},
    "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]},
}
SPEC = {"containers": [{"name": "x", "image": "x"}]}


async def test_what_admission_added_stays_nobodys() -> None:
    label = {"op": "add", "path": "/metadata/labels", "value": {"by": "hook"}}
    async with open_store("sqlite:///:memory:") as store, hook_server(patching(label)) as hooks:
        context = Context(store, builtin_registry(), random=Random(1))
        async with api_over(context) as api:
            taken = generated_name("x-", Random(1))
            assert (await api.post(f"{CORE}/limitranges", LIMITS)).code == 201
            assert (await api.post(f"{CORE}/pods", {"metadata": {"name": taken}, "spec": SPEC})).code == 201
            rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]
            await put_in_force(api, webhooks("Mutating", webhook(hooks.url, rules=rules)))
            reply = await api.post(f"{CORE}/pods", {"metadata": {"generateName": "x-"}, "spec": SPEC})
    metadata, spec = reply.body["metadata"], reply.body["spec"]
    assert reply.code == 201 and metadata["name"].startswith("x-") and metadata["name"] != taken
    assert spec["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    assert metadata["labels"] == {"by": "hook"} and len(hooks.requests) == 1
    (entry,) = metadata["managedFields"]
    owned = entry["fieldsV1"]["f:spec"]["f:containers"]['k:{"name":"x"}']
    assert owned["f:resources"] == {} and "f:labels" not in entry["fieldsV1"].get("f:metadata", {})
