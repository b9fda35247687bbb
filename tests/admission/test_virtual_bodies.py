"""What webhooks and policies make of bodies that are stored nowhere: Scales, Evictions, Bindings."""

from tests.admission.hooks import allow, hook_server, patching
from tests.admission.objects import (
    Json,
    applying,
    mutating,
    mutating_binding,
    put_in_force,
    webhook,
    webhooks,
)
from tests.admission.test_mutating_policies import DEPLOYMENT, DEPLOYMENTS
from tests.http.writing import CORE, Api

POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "x", "image": "x"}]},
}
SCALE: Json = {
    "apiVersion": "autoscaling/v1",
    "kind": "Scale",
    "metadata": {"name": "d", "namespace": "default"},
    "spec": {"replicas": 2},
}


def rule(group: str, resource: str) -> Json:
    """A rule about a subresource."""
    return {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["*"], "resources": [resource]}


async def test_a_webhook_changes_the_number_of_a_scale(api: Api) -> None:
    await api.post(DEPLOYMENTS, DEPLOYMENT)
    async with hook_server(patching({"op": "replace", "path": "/spec/replicas", "value": 5})) as hooks:
        await put_in_force(
            api, webhooks("Mutating", webhook(hooks.url, rules=[rule("apps", "deployments/scale")]))
        )
        scaled = await api.put(f"{DEPLOYMENTS}/d/scale", SCALE)
    (request,) = hooks.requests
    assert (request["kind"]["kind"], request["object"]["spec"], request["oldObject"]["spec"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 1},
    )
    assert (scaled.code, scaled.body["spec"]) == (200, {"replicas": 5})
    stored = (await api.get(f"{DEPLOYMENTS}/d")).body
    assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (5, 2)


async def test_a_number_that_cannot_be_is_refused(api: Api) -> None:
    await api.post(DEPLOYMENTS, DEPLOYMENT)
    async with hook_server(patching({"op": "replace", "path": "/spec/replicas", "value": -1})) as hooks:
        await put_in_force(
            api, webhooks("Mutating", webhook(hooks.url, rules=[rule("apps", "deployments/scale")]))
        )
        scaled = await api.put(f"{DEPLOYMENTS}/d/scale", SCALE)
    assert (scaled.code, scaled.body["details"]["causes"][0]["field"]) == (422, "spec.replicas")
    assert (await api.get(f"{DEPLOYMENTS}/d")).body["spec"]["replicas"] == 1


async def test_a_policy_changes_the_number_of_a_scale(api: Api) -> None:
    await api.post(DEPLOYMENTS, DEPLOYMENT)
    match = {"resourceRules": [{**rule("apps", "deployments/scale"), "operations": ["UPDATE"]}]}
    more = applying("Object{spec: Object.spec{replicas: object.spec.replicas + 1}}")
    await put_in_force(api, mutating(mutations=[more], matchConstraints=match), mutating_binding())
    assert (await api.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 7}})).body["spec"][
        "replicas"
    ] == 8


async def test_a_webhook_changes_where_a_pod_is_bound_to(api: Api) -> None:
    await api.post(f"{CORE}/pods", POD)
    operations = (
        {"op": "replace", "path": "/target/name", "value": "better"},
        {"op": "add", "path": "/metadata/labels", "value": {"by": "hook"}},
    )
    async with hook_server(patching(*operations)) as hooks:
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url, rules=[rule("", "pods/binding")])))
        body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
        assert (await api.post(f"{CORE}/pods/p/binding", body)).code == 201
    pod = (await api.get(f"{CORE}/pods/p")).body
    assert (pod["spec"]["nodeName"], pod["metadata"]["labels"]) == ("better", {"by": "hook"})
    assert hooks.requests[0]["object"]["apiVersion"] == "v1"


async def test_an_eviction_that_a_webhook_renamed_is_refused(api: Api) -> None:
    await api.post(f"{CORE}/pods", POD)
    rename = {"op": "replace", "path": "/metadata/name", "value": "q"}
    async with hook_server(patching(rename)) as hooks, hook_server(allow) as judging:
        rules = [rule("", "pods/eviction")]
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url, rules=rules)))
        await put_in_force(api, webhooks("Validating", webhook(judging.url, rules=rules)))
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        reply = await api.post(f"{CORE}/pods/p/eviction", body)
    assert (reply.code, reply.message) == (400, "name in URL does not match name in Eviction object")
    assert not judging.requests and (await api.get(f"{CORE}/pods/p")).code == 200


async def test_what_is_no_eviction_any_more_is_an_error_of_the_server(api: Api) -> None:
    await api.post(f"{CORE}/pods", POD)
    odd = {"op": "add", "path": "/deleteOptions", "value": 5}
    async with hook_server(patching(odd)) as hooks:
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url, rules=[rule("", "pods/eviction")])))
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        reply = await api.post(f"{CORE}/pods/p/eviction", body)
    assert reply.code == 500 and reply.message.startswith("Internal error occurred: json: cannot unmarshal")
    assert (await api.get(f"{CORE}/pods/p")).code == 200


async def test_a_webhook_shortens_a_token(api: Api) -> None:
    await api.post(f"{CORE}/serviceaccounts", {"metadata": {"name": "s"}})
    shorter = {"op": "replace", "path": "/spec/expirationSeconds", "value": 601}
    async with hook_server(patching(shorter)) as hooks:
        rules = [rule("", "serviceaccounts/token")]
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url, rules=rules)))
        reply = await api.post(f"{CORE}/serviceaccounts/s/token", {"spec": {"audiences": ["a"]}})
    assert (reply.code, reply.body["spec"]["expirationSeconds"]) == (201, 601)
    asked = hooks.requests[0]["object"]["spec"]
    assert (asked["audiences"], asked["expirationSeconds"]) == (["a"], 3600)
