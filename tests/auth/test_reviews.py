"""Reviews: questions that are answered and never stored."""

from typing import Any

import pytest

from kinepy_server.wire.protobuf import decode_message, open_envelope
from tests.auth.conftest import Guarded
from tests.http.writing import CORE

SELF = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SUBJECT = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
LOCAL = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"
RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
GET_PODS = {"verb": "get", "resource": "pods", "namespace": "default"}


async def ask(server: Guarded, target: str, spec: Any, *, who: str = "jane") -> Any:
    """The status of a review."""
    reply = await server(who, "POST", target, {"spec": spec})
    assert reply.code == 201, reply.content
    return reply.body["status"]


async def test_one_may_ask_what_one_may(server: Guarded) -> None:
    assert await ask(server, SELF, {"resourceAttributes": GET_PODS}) == {"allowed": False}
    role = {
        "metadata": {"name": "v"},
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
    }
    await server("admin", "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
    await server.grant("ClusterRole", "v", "jane")
    assert await ask(server, SELF, {"resourceAttributes": GET_PODS}) == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "v-jane/default" of ClusterRole "v" to User "jane"',
    }
    spec = {"user": "jane", "resourceAttributes": GET_PODS}
    assert (await ask(server, SUBJECT, spec, who="admin"))["allowed"]
    assert (await ask(server, LOCAL, spec, who="admin"))["allowed"]


async def test_the_question_is_shown_with_its_answer_wherever_it_stood(server: Guarded) -> None:
    spec = {"resourceAttributes": GET_PODS}
    for body in ({"spec": spec}, {"spec": spec, "metadata": {}}, {"metadata": {}, "spec": spec}):
        reply = await server("admin", "POST", SELF, body)
        assert (reply.body["spec"], reply.body["metadata"]) == (spec, {})
        assert list(reply.body) == ["apiVersion", "kind", "metadata", "spec", "status"]


async def test_one_may_ask_for_paths(server: Guarded) -> None:
    path = {"path": "/version", "verb": "get"}
    status = await ask(server, SELF, {"nonResourceAttributes": path})
    assert status["allowed"]
    assert "system:discovery" in status["reason"]
    assert not (await ask(server, SELF, {"nonResourceAttributes": {**path, "path": "/metrics"}}))["allowed"]


async def test_about_others_one_may_not_ask(server: Guarded) -> None:
    reply = await server("jane", "POST", SUBJECT, {"spec": {"user": "bob", "resourceAttributes": GET_PODS}})
    assert reply.code == 403


async def test_all_rules_of_a_namespace_are_listed(server: Guarded) -> None:
    status = await ask(server, RULES, {"namespace": "default"}, who="admin")
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert everything in status["resourceRules"]
    assert {"verbs": ["*"], "nonResourceURLs": ["*"]} in status["nonResourceRules"]
    assert status["incomplete"] is False


async def test_who_am_i(server: Guarded) -> None:
    reply = await server("jane", "POST", WHO, {})
    user = {"username": "jane", "uid": "u1", "groups": ["devs", "system:authenticated"]}
    assert reply.body["status"]["userInfo"] == user


async def test_a_token_review_knows_the_tokens_of_the_file(server: Guarded) -> None:
    target = "/apis/authentication.k8s.io/v1/tokenreviews"
    status = await ask(server, target, {"token": "jane-token"}, who="admin")
    assert status["authenticated"] is True
    assert status["user"]["username"] == "jane"
    assert status["audiences"] == ["https://kubernetes.default.svc"]
    status = await ask(server, target, {"token": "jane-token", "audiences": ["x"]}, who="admin")
    assert status == {"user": {}, "error": "invalid bearer token"}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"resourceAttributes": {**GET_PODS, "labelSelector": {}}}, "labelSelector.requirements"),
        (
            {
                "resourceAttributes": {
                    **GET_PODS,
                    "fieldSelector": {
                        "rawSelector": "a=b",
                        "requirements": [{"key": "a", "operator": "In", "values": ["b"]}],
                    },
                }
            },
            "fieldSelector.rawSelector",
        ),
    ],
)
async def test_selectors_of_a_question_must_say_one_thing(server: Guarded, spec: Any, field: str) -> None:
    reply = await server("jane", "POST", SELF, {"spec": spec})
    assert reply.code == 422
    assert [c["field"] for c in reply.body["details"]["causes"]] == [f"spec.resourceAttributes.{field}"]


async def test_a_question_has_no_name(server: Guarded) -> None:
    body = {"metadata": {"name": "x"}, "spec": {"resourceAttributes": GET_PODS}}
    reply = await server("jane", "POST", SELF, body)
    assert (reply.code, reply.message[-13:]) == (422, "must be empty")


async def test_questions_are_not_stored(server: Guarded) -> None:
    before = await server.context.store.current_revision()
    await ask(server, SELF, {"resourceAttributes": GET_PODS})
    assert await server.context.store.current_revision() == before
    assert (await server("jane", "GET", SELF)).code == 403
    assert (await server("admin", "GET", SELF)).code == 405


@pytest.mark.parametrize("target", [WHO, f"{CORE}/serviceaccounts/sa/token"])
async def test_answers_come_in_protobuf_where_that_is_asked_for(server: Guarded, target: str) -> None:
    await server("admin", "POST", f"{CORE}/serviceaccounts", {"metadata": {"name": "sa"}})
    headers = {"authorization": "Bearer admin-token", "accept": "application/vnd.kubernetes.protobuf"}
    reply = await server.api("POST", target, {}, headers=headers)
    assert (reply.code, reply.content[:4]) == (201, b"k8s\0")
    kind = "SelfSubjectReview" if target == WHO else "TokenRequest"
    message = decode_message(f"authentication.v1.{kind}", open_envelope(reply.content).raw)
    if target == WHO:
        assert message["status"]["userInfo"]["username"] == "admin"
    else:
        assert len(message["status"]["token"]) > 100
