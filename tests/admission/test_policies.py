"""ValidatingAdmissionPolicies: what they see, when they are asked, and what a refusal says."""

import pytest

from tests.admission.objects import CONFIGMAPS_RULE, GROUP, Json, binding, policy, put_in_force
from tests.http.writing import CONFIGMAPS, Api, configmap

SMALL = {"expression": "size(object.data) < 2"}
REASON = "authorizer.path('/').check('get').reason()"
LONG = "lists.range(250).all(a, lists.range(180).all(b, a + b >= 0))"
DENIED = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "


async def test_a_failed_expression_refuses_the_write(api: Api) -> None:
    await put_in_force(api, policy(validations=[SMALL]), binding())
    reply = await api.post(CONFIGMAPS, configmap(data={"a": "1", "b": "2"}))
    why = f"{DENIED}failed expression: size(object.data) < 2"
    assert (reply.code, reply.body["reason"]) == (422, "Invalid")
    assert reply.message == f'configmaps "a" is forbidden: {why}'
    assert reply.body["details"] == {"name": "a", "kind": "configmaps", "causes": [{"message": why}]}
    assert (await api.post(CONFIGMAPS, configmap(data={"a": "1"}))).code == 201


async def test_message_expression_and_reason_shape_the_refusal(api: Api) -> None:
    rule = {**SMALL, "messageExpression": "'too many: ' + string(size(object.data))", "reason": "Forbidden"}
    await put_in_force(api, policy(validations=[rule]), binding())
    reply = await api.post(CONFIGMAPS, configmap(data={"a": "1", "b": "2"}))
    assert (reply.code, reply.body["reason"]) == (403, "Forbidden")
    assert reply.message.endswith(f"{DENIED}too many: 2")


async def test_an_update_a_patch_and_a_delete_are_judged_by_old_and_new(api: Api) -> None:
    rule = {"expression": "request.operation != 'UPDATE' || object.data.a >= oldObject.data.a"}
    kept = {"expression": "request.operation != 'DELETE' || oldObject.data.a != '5'"}
    await put_in_force(api, policy(validations=[rule, kept]), binding())
    await api.post(CONFIGMAPS, configmap(data={"a": "5"}))
    assert (await api.put(f"{CONFIGMAPS}/a", configmap(data={"a": "4"}))).code == 422
    assert (await api.patch(f"{CONFIGMAPS}/a", {"data": {"a": "4"}})).code == 422
    assert (await api.delete(f"{CONFIGMAPS}/a")).code == 422
    assert (await api.delete(CONFIGMAPS)).code == 422
    assert (await api.patch(f"{CONFIGMAPS}/a", {"data": {"a": "6"}})).code == 200
    assert (await api.delete(f"{CONFIGMAPS}/a")).code == 200


async def test_a_warning_does_not_refuse(api: Api) -> None:
    await put_in_force(api, policy(validations=[{"expression": "false"}]), binding(actions=["Warn", "Audit"]))
    reply = await api.post(CONFIGMAPS, configmap())
    assert reply.code == 201
    text = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: false"
    assert reply.header("warning") == [f'299 - "{text}"']


@pytest.mark.parametrize(("failure", "code"), [("Fail", 422), ("Ignore", 201)])
async def test_an_error_counts_as_the_failure_policy_says(api: Api, failure: str, code: int) -> None:
    rule = {"expression": "object.nothing == 1"}
    await put_in_force(api, policy(validations=[rule], failurePolicy=failure), binding())
    reply = await api.post(CONFIGMAPS, configmap())
    assert reply.code == code
    if code == 422:
        assert reply.message.endswith(
            f"{DENIED}expression 'object.nothing == 1' resulted in error: no such key: nothing"
        )


async def test_an_expression_that_would_run_for_ever_refuses_only_what_it_judges(api: Api) -> None:
    endless = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, size(object.data) > 0))"
    deep = endless.replace("size(object.data) > 0", endless.replace("size(object.data) > 0", endless))
    await put_in_force(api, policy(validations=[{"expression": deep}]), binding())
    reply = await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
    assert reply.code == 422 and "cost limit exceeded" in reply.message
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert (await api.post("/api/v1/namespaces/default/secrets", secret)).code == 201


async def test_variables_and_match_conditions_are_evaluated(api: Api) -> None:
    spec: Json = {
        "variables": [
            {"name": "count", "expression": "has(object.data) ? size(object.data) : 0"},
            {"name": "many", "expression": "variables.count > 1"},
        ],
        "matchConditions": [{"name": "not-free", "expression": "request.name != 'free'"}],
    }
    await put_in_force(api, policy(validations=[{"expression": "!variables.many"}], **spec), binding())
    two = {"a": "1", "b": "2"}
    assert (await api.post(CONFIGMAPS, configmap("a", two))).code == 422
    assert (await api.post(CONFIGMAPS, configmap("free", two))).code == 201


async def test_parameters_are_read_when_the_write_is_judged(api: Api) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    rule = {"expression": "object.metadata.name != params.data.bad"}
    ref = {"name": "rules", "namespace": "kube-system", "parameterNotFoundAction": "Deny"}
    await put_in_force(api, policy(validations=[rule], paramKind=kind), binding(paramRef=ref))
    reply = await api.post(CONFIGMAPS, configmap("x"))
    assert "no params found for policy binding with `Deny` parameterNotFoundAction" in reply.message


async def test_bindings_choose_objects_and_namespaces_by_labels(api: Api) -> None:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "n", "labels": {"strict": "yes"}},
    }
    await api.post("/api/v1/namespaces", namespace)
    match = {
        "namespaceSelector": {"matchLabels": {"strict": "yes"}},
        "objectSelector": {"matchLabels": {"x": "1"}},
    }
    await put_in_force(api, policy(validations=[{"expression": "false"}]), binding(matchResources=match))
    strict = "/api/v1/namespaces/n/configmaps"
    assert (await api.post(strict, configmap(labels={"x": "1"}))).code == 422
    assert (await api.post(strict, configmap())).code == 201
    assert (await api.post(CONFIGMAPS, configmap(labels={"x": "1"}))).code == 201


async def test_policies_can_always_be_deleted(api: Api) -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    spec: Json = {"matchConstraints": {"resourceRules": [everything]}}
    await put_in_force(api, policy(validations=[{"expression": "false"}], **spec), binding())
    assert (await api.post(CONFIGMAPS, configmap())).code == 422
    target = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/p"
    assert (await api.delete(target)).code == 200


@pytest.mark.parametrize(
    ("part", "field", "problem"),
    [
        (
            {"expression": "object.a =="},
            "expression",
            "compilation failed: ERROR: <input>:1:12: Syntax error",
        ),
        ({"expression": "object.a"}, "expression", "must evaluate to bool"),
        ({"expression": "true", "messageExpression": "1"}, "messageExpression", "must evaluate to string"),
    ],
)
async def test_a_policy_that_does_not_compile_is_refused(
    api: Api, part: Json, field: str, problem: str
) -> None:
    reply = await api.post(f"{GROUP}/validatingadmissionpolicies", policy(validations=[part]))
    (cause,) = reply.body["details"]["causes"]
    assert (reply.code, cause["field"]) == (422, f"spec.validations[0].{field}")
    assert problem in cause["message"]


async def test_expressions_may_ask_for_the_users_rights(api: Api) -> None:
    may = "authorizer.group('').resource('secrets').namespace('default').check('delete').allowed()"
    of_account = "authorizer.serviceAccount('default', 'x').path('/healthz').check('get').allowed()"
    await put_in_force(api, policy(validations=[{"expression": f"{may} && {of_account}"}]), binding())
    assert (await api.post(CONFIGMAPS, configmap())).code == 201


async def test_a_scale_is_judged_as_a_scale(api: Api) -> None:
    rule = {"apiGroups": ["apps"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["*/scale"]}
    expression = "request.kind.kind == 'Scale' && object.spec.replicas < 5 && oldObject.spec.replicas == 1"
    spec: Json = {"matchConstraints": {"resourceRules": [rule]}}
    await put_in_force(api, policy(validations=[{"expression": expression}], **spec), binding())
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    obj = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    target = "/apis/apps/v1/namespaces/default/deployments"
    assert (await api.post(target, obj)).code == 201
    assert (await api.patch(f"{target}/d/scale", {"spec": {"replicas": 9}})).code == 422
    assert (await api.patch(f"{target}/d/scale", {"spec": {"replicas": 3}})).code == 200


async def test_an_eviction_is_judged(api: Api) -> None:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/eviction"],
    }
    spec: Json = {"matchConstraints": {"resourceRules": [rule]}}
    await put_in_force(
        api, policy(validations=[{"expression": "object.kind != 'Eviction'"}], **spec), binding()
    )
    pods = "/api/v1/namespaces/default/pods"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    assert (await api.post(pods, {**pod, "spec": {"containers": [{"name": "c", "image": "i"}]}})).code == 201
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert (await api.post(f"{pods}/p/eviction", eviction)).code == 422
    assert (await api.get(f"{pods}/p")).code == 200


async def test_variables_have_the_types_of_their_expressions(api: Api) -> None:
    spec: Json = {"variables": [{"name": "small", "expression": "size(object.data) < 2"}]}
    await put_in_force(api, policy(validations=[{"expression": "variables.small"}], **spec), binding())
    assert (await api.post(CONFIGMAPS, configmap(data={"a": "1", "b": "2"}))).code == 422
    assert (await api.post(CONFIGMAPS, configmap(data={"a": "1"}))).code == 201


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"variables": [{"name": "x", "expression": "object.nothing"}],
             "validations": [{"expression": "variables.x == 1"}]},
            "expression 'variables.x == 1' resulted in error: composited variable \"x\" fails to evaluate: no such"
            " key: nothing",
        ),
        (
            {"matchConditions": [{"name": "c", "expression": "object.nothing == 1"},
                                 {"name": "d", "expression": "object.none == 1"}],
             "validations": [{"expression": "true"}]},
            "[expression 'object.nothing == 1' resulted in error: no such key: nothing, expression"
            " 'object.none == 1' resulted in error: no such key: none]",
        ),
        (
            {"variables": [{"name": f"v{index}", "expression": LONG} for index in range(30)],
             "validations": [{"expression": " && ".join(f"variables.v{index}" for index in range(30))}]},
            "validation failed due to running out of cost budget, no further validation rules will be run",
        ),
    ],
)  # fmt: skip
async def test_what_fails_inside_is_told(api: Api, spec: Json, why: str) -> None:
    await put_in_force(api, policy(**spec), binding())
    reply = await api.post(CONFIGMAPS, configmap())
    assert (reply.code, reply.message) == (422, f'configmaps "a" is forbidden: {DENIED}{why}')


async def test_rights_are_asked_for_also_by_long_evaluations(api: Api) -> None:
    asks = "authorizer.requestResource.check('create').allowed()"
    rule = {"expression": f"lists.range(200).all(a, lists.range(100).all(b, a + b >= 0)) && !{asks}"}
    await put_in_force(api, policy(validations=[rule]), binding())
    reply = await api.post(CONFIGMAPS, configmap())
    assert reply.code == 422 and "failed expression" in reply.message


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        (
            {"validations": []},
            "spec.validations",
            "Required value: validations or auditAnnotations must contain at least one item",
        ),
        (
            {"validations": [{"expression": "object.a"}]},
            "spec.validations[0].expression",
            'Invalid value: "object.a": must evaluate to bool but got dyn',
        ),
        (
            {"validations": [{"expression": "variables.none"}]},
            "spec.validations[0].expression",
            'Invalid value: "variables.none": compilation failed: ERROR: <input>:1:10: undefined field \'none\'\n'
            " | variables.none\n | .........^",
        ),
        (
            {"validations": [{"expression": "true", "messageExpression": REASON}]},
            "spec.validations[0].messageExpression",
            "Invalid value: \"authorizer.path('/').check('get').reason()\": compilation failed: ERROR: <input>:1:1:"
            " undeclared reference to 'authorizer' (in container '')",
        ),
        (
            {"matchConstraints": {"resourceRules": [{**CONFIGMAPS_RULE, "resources": ["*", "pods"]}]}},
            "spec.matchConstraints.resourceRules[0].resources",
            'Invalid value: ["*","pods"]: if \'*\' is present, must not specify other resources without subresources',
        ),
        ({"matchConstraints": {}}, "spec.matchConstraints.resourceRules", "Required value"),
        ({"paramKind": {"apiVersion": "v1"}}, "spec.paramKind.kind", "Required value"),
        (
            {"matchConditions": [{"name": "c", "expression": "true"}, {"name": "c", "expression": "true"}]},
            "spec.matchConditions[1].name",
            'Duplicate value: "c"',
        ),
    ],
)  # fmt: skip
async def test_a_policy_that_could_not_work_is_refused(api: Api, spec: Json, field: str, text: str) -> None:
    body = policy(validations=[SMALL])
    body["spec"] |= spec
    reply = await api.post(f"{GROUP}/validatingadmissionpolicies", body)
    cause = reply.body["details"]["causes"][0]
    assert (reply.code, cause["field"]) == (422, field) and cause["message"].startswith(text)


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        ({"policyName": "B!"}, "spec.policyName", 'Invalid value: "B!"'),
        ({"paramRef": {}}, "spec.paramRef", "Required value: one of name or selector must be specified"),
        ({"paramRef": {"name": "x"}}, "spec.paramRef.parameterNotFoundAction", "Required value"),
        ({"validationActions": ["Deny", "Warn"]}, "spec.validationActions", 'Invalid value: ["Deny","Warn"]: must not'),
        ({"validationActions": []}, "spec.validationActions", "Required value: at least one validation action"),
    ],
)  # fmt: skip
async def test_a_binding_that_could_not_work_is_refused(api: Api, spec: Json, field: str, text: str) -> None:
    body = binding()
    body["spec"] |= spec
    reply = await api.post(f"{GROUP}/validatingadmissionpolicybindings", body)
    cause = reply.body["details"]["causes"][0]
    assert (reply.code, cause["field"]) == (422, field) and cause["message"].startswith(text)
