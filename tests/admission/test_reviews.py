"""Questions about rights and identities go through webhooks, and past policies."""

import pytest

from tests.admission.hooks import HookServer, allow, deny, hook_server, patching
from tests.admission.objects import (
    Json,
    applying,
    binding,
    mutating,
    mutating_binding,
    policy,
    put_in_force,
    webhook,
    webhooks,
)
from tests.http.writing import Api

ACCESS, IDENTITY = "/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1"
GET_PODS: Json = {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}
ALL: Json = {
    "apiGroups": ["authorization.k8s.io", "authentication.k8s.io"],
    "apiVersions": ["*"],
    "operations": ["*"],
    "resources": ["*"],
}
QUESTIONS: list[tuple[str, Json]] = [
    (f"{ACCESS}/selfsubjectaccessreviews", GET_PODS),
    (f"{ACCESS}/subjectaccessreviews", {"user": "jane", **GET_PODS}),
    (f"{ACCESS}/namespaces/default/localsubjectaccessreviews", {"user": "jane", **GET_PODS}),
    (f"{ACCESS}/selfsubjectrulesreviews", {"namespace": "default"}),
    (f"{IDENTITY}/selfsubjectreviews", {}),
    (f"{IDENTITY}/tokenreviews", {"token": "t"}),
]
each_question = pytest.mark.parametrize(
    ("target", "spec"), QUESTIONS, ids=[target.rpartition("/")[2] for target, _ in QUESTIONS]
)


async def judging(api: Api, hooks: HookServer, kind: str = "Validating") -> None:
    await put_in_force(api, webhooks(kind, webhook(hooks.url, rules=[ALL])))


@each_question
async def test_a_webhook_sees_a_question_and_may_refuse_it(api: Api, target: str, spec: Json) -> None:
    async with hook_server(allow) as hooks:
        await judging(api, hooks)
        answered = await api.post(target, {"spec": spec} if spec else {})
        hooks.answer = deny(message="not now", code=403)
        refused = await api.post(target, {"spec": spec} if spec else {})
    assert (answered.code, "status" in answered.body) == (201, True)
    assert (refused.code, refused.message) == (
        403,
        'admission webhook "w.example.com" denied the request: not now',
    )
    asked = hooks.requests[0]
    assert (asked["operation"], asked["resource"]["resource"]) == ("CREATE", target.rpartition("/")[2])
    assert asked["object"]["kind"] == asked["kind"]["kind"] and asked["object"].get("spec", {}) == spec
    assert asked.get("namespace", "") == ("default" if "/namespaces/" in target else "")


async def test_the_question_is_answered_as_a_webhook_has_put_it(api: Api) -> None:
    other = {"op": "replace", "path": "/spec/user", "value": "joe"}
    async with hook_server(patching(other)) as hooks:
        await judging(api, hooks, "Mutating")
        reply = await api.post(f"{ACCESS}/subjectaccessreviews", {"spec": {"user": "jane", **GET_PODS}})
    assert (reply.code, reply.body["spec"]["user"]) == (201, "joe")


async def test_a_question_that_a_webhook_has_spoilt_is_refused_and_not_judged(api: Api) -> None:
    spoil = {"op": "remove", "path": "/spec/token"}
    async with hook_server(patching(spoil)) as changing, hook_server(allow) as hooks:
        await judging(api, changing, "Mutating")
        await judging(api, hooks)
        reply = await api.post(f"{IDENTITY}/tokenreviews", {"spec": {"token": "t"}})
    assert (reply.code, reply.message) == (400, "token is required for TokenReview in authentication")
    assert not hooks.requests


async def test_a_webhook_is_told_the_name_that_the_object_has(api: Api) -> None:
    async with hook_server(allow) as hooks:
        await judging(api, hooks)
        body = {"metadata": {"name": "n"}, "spec": {"token": "t"}}
        assert (await api.post(f"{IDENTITY}/tokenreviews", body)).code == 201
    assert hooks.requests[0]["name"] == "n"


@each_question
async def test_no_policy_sees_a_question(api: Api, target: str, spec: Json) -> None:
    match = {"resourceRules": [ALL]}
    change = applying("Object{metadata: Object.metadata{labels: {'by': 'policy'}}}")
    creates = {"resourceRules": [{**ALL, "operations": ["CREATE"]}]}
    await put_in_force(
        api,
        policy(validations=[{"expression": "false"}], matchConstraints=match),
        binding(),
        mutating(mutations=[change], matchConstraints=creates),
        mutating_binding(),
    )
    reply = await api.post(target, {"spec": spec} if spec else {})
    assert (reply.code, reply.body["metadata"].get("labels")) == (201, None)
