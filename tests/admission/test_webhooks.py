"""Webhooks: what they are asked, what they may change, and what their refusal, silence or nonsense means."""

import pytest

from tests.admission.hooks import Answer, allow, deny, hook_server, patching
from tests.admission.objects import Json, put_in_force, webhook, webhooks
from tests.http.writing import CONFIGMAPS, CORE, Api, configmap

ADD_B: Json = {"op": "add", "path": "/data/b", "value": "added"}


async def test_a_validating_webhook_sees_the_write(api: Api) -> None:
    async with hook_server(allow) as hooks:
        await put_in_force(api, webhooks("Validating", webhook(hooks.url)))
        await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
        await api.patch(f"{CONFIGMAPS}/a", {"data": {"a": "2"}})
        await api.delete(f"{CONFIGMAPS}/a")
        created, patched, deleted = hooks.requests
    assert created["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert created["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (created["operation"], created["name"], created["namespace"]) == ("CREATE", "a", "default")
    assert (created["object"]["data"], created["oldObject"]) == ({"a": "1"}, None)
    assert created["userInfo"]["username"] and created["dryRun"] is False
    assert (patched["operation"], patched["object"]["data"], patched["oldObject"]["data"]) == (
        "UPDATE",
        {"a": "2"},
        {"a": "1"},
    )
    assert (deleted["operation"], deleted["object"], deleted["oldObject"]["data"]) == (
        "DELETE",
        None,
        {"a": "2"},
    )


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        ({"message": "not today", "code": 403, "reason": "Forbidden"}, 403, "Forbidden", ": not today"),
        ({"message": "no"}, 400, None, ": no"),
        ({"reason": "Odd"}, 400, "Odd", ": Odd"),
        ({}, 400, None, " without explanation"),
    ],
)
async def test_a_refusal_has_the_webhooks_words(
    api: Api, status: Json, code: int, reason: str | None, message: str
) -> None:
    async with hook_server(deny(**status)) as hooks:
        await put_in_force(api, webhooks("Validating", webhook(hooks.url)))
        reply = await api.post(CONFIGMAPS, configmap())
    assert (reply.code, reply.body.get("reason")) == (code, reason)
    assert reply.message == f'admission webhook "w.example.com" denied the request{message}'
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 404


async def test_a_mutating_webhook_changes_creates_and_updates(api: Api) -> None:
    async with hook_server(patching(ADD_B)) as hooks:
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url)))
        reply = await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
        assert reply.body["data"] == {"a": "1", "b": "added"}
        reply = await api.put(f"{CONFIGMAPS}/a", configmap(data={"c": "3"}))
        assert reply.body["data"] == {"b": "added", "c": "3"}
    assert (await api.get(f"{CONFIGMAPS}/a")).body["data"] == {"b": "added", "c": "3"}


async def test_what_a_webhook_made_of_an_object_is_checked(api: Api) -> None:
    bad = {"op": "add", "path": "/data/bad key", "value": "x"}
    async with hook_server(patching(bad)) as hooks:
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url)))
        reply = await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
    assert (reply.code, reply.body["reason"]) == (422, "Invalid")


async def test_a_webhook_is_asked_again_when_a_later_one_changed_the_object(api: Api) -> None:
    first = {"name": "first.example.com", "reinvocationPolicy": "IfNeeded"}
    async with hook_server(allow) as seeing, hook_server(patching(ADD_B)) as changing:
        hooks = webhook(seeing.url, **first), webhook(changing.url, name="second.example.com")
        await put_in_force(api, webhooks("Mutating", *hooks))
        await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
        assert [request["object"]["data"].get("b") for request in seeing.requests] == [None, "added"]
        assert len(changing.requests) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda request: b"garbage", "failed to call webhook: couldn't get version/kind; json parse error"),
        (lambda request: b"{}", "received invalid webhook response: webhook response was absent"),
        (lambda request: {"uid": "other", "allowed": True}, "invalid webhook response: expected response.uid="),
        (lambda request: None, "context deadline exceeded"),
        (
            lambda request: {**allow(request), "patchType": "JSONPatch", "patch": "e30="},
            "received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type",
        ),
    ],
)  # fmt: skip
async def test_a_webhook_that_fails_refuses_or_is_ignored(api: Api, answer: Answer, why: str) -> None:
    async with hook_server(answer) as hooks:
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url)))
        reply = await api.post(CONFIGMAPS, configmap())
        assert (reply.code, reply.body["reason"]) == (500, "InternalError")
        text = 'Internal error occurred: failed calling webhook "w.example.com": '
        assert reply.message.startswith(text) and why in reply.message


async def test_a_patch_that_does_not_apply_is_told(api: Api) -> None:
    async with hook_server(patching({"op": "remove", "path": "/nothing"})) as hooks:
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url, failurePolicy="Ignore")))
        reply = await api.post(CONFIGMAPS, configmap())
    why = "error in remove for path: '/nothing': Unable to remove nonexistent key: nothing: missing value"
    assert (reply.code, reply.message) == (500, f"Internal error occurred: {why}")


async def test_a_webhook_that_cannot_be_reached_is_ignored_if_it_may_be(api: Api) -> None:
    async with hook_server(allow) as hooks:
        url = hooks.url
    refusing = webhook(url)
    ignored = webhook(url, failurePolicy="Ignore")
    await put_in_force(api, webhooks("Validating", ignored))
    assert (await api.post(CONFIGMAPS, configmap())).code == 201
    await put_in_force(api, webhooks("Validating", refusing, name="x"))
    reply = await api.post(CONFIGMAPS, configmap("b"))
    assert reply.message.startswith(
        'Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: '
        f'Post "{url}?timeout=1s": dial tcp {url[8:-5]}: connect: connection refused'
    )


async def test_a_dry_run_does_not_reach_a_webhook_with_side_effects(api: Api) -> None:
    async with hook_server(allow) as hooks:
        unsafe = {**webhook(hooks.url), "sideEffects": "NoneOnDryRun"}
        await put_in_force(api, webhooks("Validating", unsafe))
        assert (await api.post(f"{CONFIGMAPS}?dryRun=All", configmap())).code == 201
        assert [request["dryRun"] for request in hooks.requests] == [True]


async def test_only_what_rules_selectors_and_conditions_name_is_sent(api: Api) -> None:
    narrow: Json = {
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        ],
        "objectSelector": {"matchExpressions": [{"key": "x", "operator": "Exists"}]},
        "matchConditions": [{"name": "c", "expression": "object.metadata.name != 'free'"}],
    }
    async with hook_server(deny(message="no")) as hooks:
        await put_in_force(api, webhooks("Validating", webhook(hooks.url, **narrow)))
        assert (await api.post(CONFIGMAPS, configmap("a"))).code == 201
        assert (await api.post(CONFIGMAPS, configmap("free", labels={"x": "1"}))).code == 201
        assert (await api.post(CONFIGMAPS, configmap("b", labels={"x": "1"}))).code == 400
        assert (await api.patch(f"{CONFIGMAPS}/free", {"data": {"a": "1"}})).code == 200


async def test_warnings_of_webhooks_reach_the_client(api: Api) -> None:
    async with hook_server(lambda request: {**allow(request), "warnings": ["take care"]}) as hooks:
        await put_in_force(api, webhooks("Validating", webhook(hooks.url)))
        reply = await api.post(CONFIGMAPS, configmap())
    assert (reply.code, reply.header("warning")) == (201, ['299 - "take care"'])


async def test_a_rule_for_another_version_sees_the_write_in_that_version(api: Api) -> None:
    rule = {"apiGroups": ["autoscaling"], "apiVersions": ["v2"], "operations": ["*"]}
    rules = [{**rule, "resources": ["horizontalpodautoscalers"]}]
    scaler = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}},
    }
    target = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    patch = {"op": "replace", "path": "/spec/maxReplicas", "value": 7}
    async with hook_server(patching(patch)) as hooks:
        exact: Json = {"rules": rules, "matchPolicy": "Exact"}
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url, **exact), name="exact"))
        assert (await api.post(f"{target}?dryRun=All", scaler)).body["spec"]["maxReplicas"] == 3
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url, rules=rules)))
        reply = await api.post(target, scaler)
    (request,) = hooks.requests
    assert request["object"]["apiVersion"] == "autoscaling/v2"
    assert (request["resource"]["version"], request["requestResource"]["version"]) == ("v2", "v1")
    assert (reply.body["apiVersion"], reply.body["spec"]["maxReplicas"]) == ("autoscaling/v1", 7)


async def test_containers_that_a_webhook_adds_get_their_limits(api: Api) -> None:
    limits = {"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}
    await api.post(f"{CORE}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [limits]}})
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]
    side: Json = {"name": "side", "image": "side"}
    large = {**side, "resources": {"limits": {"cpu": "5"}}}
    pod: Json = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "x", "image": "x"}]}}
    async with hook_server(patching({"op": "add", "path": "/spec/containers/-", "value": side})) as hooks:
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url, rules=rules)))
        created = await api.post(f"{CORE}/pods", pod)
        hooks.answer = patching({"op": "add", "path": "/spec/containers/-", "value": large})
        refused = await api.post(f"{CORE}/pods", {**pod, "metadata": {"name": "q"}})
    assert [one["resources"]["limits"] for one in created.body["spec"]["containers"]] == [{"cpu": "1"}] * 2
    why = "maximum cpu usage per Container is 2, but limit is 5"
    assert (refused.code, refused.message) == (403, f'pods "q" is forbidden: {why}')


async def test_managers_that_make_no_sense_are_put_back(api: Api) -> None:
    odd = {"op": "replace", "path": "/metadata/managedFields/0/operation", "value": "Guess"}
    async with hook_server(patching(odd, ADD_B)) as hooks:
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url)))
        created = await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
    (entry,) = created.body["metadata"]["managedFields"]
    assert (entry["operation"], created.body["data"]) == ("Update", {"a": "1", "b": "added"})
    text = (
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating"
        " admission controller; please fix your requests: operation must be `Apply` or `Update`"
    )
    assert created.header("warning") == [f'299 - "{text}"']
