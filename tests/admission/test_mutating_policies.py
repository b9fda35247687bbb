"""MutatingAdmissionPolicies: what they change, in which order, and what their failure says."""

from typing import Any

import pytest

from tests.admission.hooks import hook_server, patching
from tests.admission.objects import (
    CONFIGMAPS_RULE,
    GROUP,
    Json,
    applying,
    binding,
    mutating,
    mutating_binding,
    operating,
    policy,
    put_in_force,
    webhook,
    webhooks,
)
from tests.custom.definitions import WIDGETS, Crds, spec_schema, version, widget
from tests.http.writing import CONFIGMAPS, CORE, Api, configmap

LABEL = applying('Object{metadata: Object.metadata{labels: {"seen": request.operation}}}')
LIST: Json = {"type": "array", "items": {"type": "string"}}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEPLOYMENTS_RULE: Json = {
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["deployments"],
}
DEPLOYMENT: Json = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [{"name": "x", "image": "x", "env": [{"name": "A", "value": "1"}]}],
                "volumes": [{"name": "v", "emptyDir": {}}],
            },
        },
    },
}


def of_deployments(*mutations: Json, **spec: Any) -> Json:
    """A policy about Deployments."""
    return mutating(mutations=mutations, matchConstraints={"resourceRules": [DEPLOYMENTS_RULE]}, **spec)


async def test_a_configuration_is_applied_to_creates_and_updates(api: Api) -> None:
    await put_in_force(api, mutating(mutations=[LABEL]), mutating_binding())
    created = await api.post(CONFIGMAPS, configmap(labels={"own": "1"}))
    assert created.body["metadata"]["labels"] == {"own": "1", "seen": "CREATE"}
    patched = await api.patch(f"{CONFIGMAPS}/a", {"data": {"a": "1"}})
    assert patched.body["metadata"]["labels"] == {"own": "1", "seen": "UPDATE"}
    assert (await api.get(f"{CONFIGMAPS}/a")).body["metadata"]["labels"] == patched.body["metadata"]["labels"]


async def test_what_a_policy_sets_is_owned_by_nobody(api: Api) -> None:
    await put_in_force(api, mutating(mutations=[LABEL]), mutating_binding())
    created = await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
    (entry,) = created.body["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}


async def test_lists_of_maps_are_merged_by_their_keys(api: Api) -> None:
    expression = """Object{spec: Object.spec{
        replicas: object.spec.replicas + 2,
        template: Object.spec.template{spec: Object.spec.template.spec{
            volumes: [Object.spec.template.spec.volumes{name: "w"}],
            containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{
                name: c.name,
                env: [Object.spec.template.spec.containers.env{name: "B", value: "2"}],
            })
        }}
    }}"""
    await put_in_force(api, of_deployments(applying(expression)), mutating_binding())
    spec = (await api.post(DEPLOYMENTS, DEPLOYMENT)).body["spec"]
    assert spec["replicas"] == 3
    assert spec["template"]["spec"]["containers"][0]["env"] == [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
    ]
    assert [volume["name"] for volume in spec["template"]["spec"]["volumes"]] == ["v", "w"]


async def test_json_patches_are_applied(api: Api) -> None:
    expression = """[
        JSONPatch{op: "test", path: "/data/a", value: "1"},
        JSONPatch{op: "add", path: "/metadata/labels", value: {"x": "1"}},
        JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("k8s.io/y"), value: "2"},
        JSONPatch{op: "copy", from: "/data/a", path: "/data/b"},
        JSONPatch{op: "remove", path: "/data/a"},
    ]"""
    await put_in_force(api, mutating(mutations=[operating(expression)]), mutating_binding())
    created = (await api.post(CONFIGMAPS, configmap(data={"a": "1"}))).body
    assert created["metadata"]["labels"] == {"x": "1", "k8s.io/y": "2"} and created["data"] == {"b": "1"}
    other = (await api.post(CONFIGMAPS, configmap("other", data={"a": "2"}))).body
    assert other["data"] == {"a": "2"} and "labels" not in other["metadata"]


async def test_mutations_policies_and_webhooks_follow_each_other(api: Api) -> None:
    first = mutating("a", [operating('[JSONPatch{op: "add", path: "/data", value: {"n": "1"}}]'), grow("2")])
    second = mutating("b", [grow("3")])
    hook = patching({"op": "copy", "from": "/data/n", "path": "/data/hooked"})
    async with hook_server(hook) as hooks:
        await put_in_force(api, second, mutating_binding("b", "b2"), first, mutating_binding("a", "b1"))
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url)))
        created = await api.post(CONFIGMAPS, configmap())
    assert created.body["data"] == {"n": "123", "hooked": "123"}


def grow(text: str) -> Json:
    """A mutation that adds to the text of a ConfigMap."""
    return operating(f'[JSONPatch{{op: "replace", path: "/data/n", value: object.data.n + "{text}"}}]')


@pytest.mark.parametrize(("again", "expected"), [("IfNeeded", "1,true"), ("Never", "1,false")])
async def test_a_policy_sees_what_came_after_it_if_it_wants_to(api: Api, again: str, expected: str) -> None:
    looks = operating(
        '[JSONPatch{op: "add", path: "/data/seen", value: string(has(object.data.b))}]',
    )
    hook = patching({"op": "add", "path": "/data/b", "value": "x"})
    async with hook_server(hook) as hooks:
        await put_in_force(api, mutating(mutations=[looks], reinvocationPolicy=again), mutating_binding())
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url)))
        created = await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
    assert f"{created.body['data']['a']},{created.body['data']['seen']}" == expected
    assert len(hooks.requests) == 1


async def test_a_webhook_is_asked_again_after_a_policy_that_was_asked_again(api: Api) -> None:
    counts = operating(
        '[JSONPatch{op: "add", path: "/data/n", value: string(int(object.data.?n.orValue("0")) + 1)}]'
    )
    async with hook_server(patching({"op": "add", "path": "/data/b", "value": "x"})) as hooks:
        await put_in_force(api, mutating(mutations=[counts], reinvocationPolicy="IfNeeded"))
        await put_in_force(api, mutating_binding())
        await put_in_force(api, webhooks("Mutating", webhook(hooks.url, reinvocationPolicy="IfNeeded")))
        created = await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
        assert created.body["data"]["n"] == "2"
        assert [request["object"]["data"]["n"] for request in hooks.requests] == ["1", "2"]


async def test_match_conditions_see_what_earlier_policies_did(api: Api) -> None:
    condition = {
        "name": "seen",
        "expression": "has(object.metadata.labels) && 'seen' in object.metadata.labels",
    }
    second = mutating(
        "n",
        [applying('Object{metadata: Object.metadata{annotations: {"second": "yes"}}}')],
        matchConditions=[condition],
    )
    await put_in_force(api, mutating(mutations=[LABEL]), second)
    await put_in_force(api, mutating_binding("n", "n"))
    assert "annotations" not in (await api.post(CONFIGMAPS, configmap())).body["metadata"]
    await put_in_force(api, mutating_binding("m", "m"))
    created = await api.post(CONFIGMAPS, configmap("b"))
    assert created.body["metadata"]["annotations"] == {"second": "yes"}


async def test_variables_parameters_and_namespaces_are_known(api: Api) -> None:
    params = {**configmap("rules", data={"team": "blue"}), "metadata": {"name": "rules"}}
    await api.post(f"{CORE}/configmaps", params)
    expression = """Object{metadata: Object.metadata{labels: {
        "team": variables.team, "in": namespaceObject.metadata.name,
        "may": string(authorizer.requestResource.check("delete").allowed()),
    }}}"""
    spec: Json = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "variables": [{"name": "team", "expression": "params.data.team"}],
    }
    ref = {"name": "rules", "parameterNotFoundAction": "Deny"}
    await put_in_force(
        api, mutating(mutations=[applying(expression)], **spec), mutating_binding(paramRef=ref)
    )
    created = await api.post(CONFIGMAPS, configmap())
    assert created.body["metadata"]["labels"] == {"team": "blue", "in": "default", "may": "true"}


@pytest.mark.parametrize(
    ("mutation", "why"),
    [
        (
            applying("Object{spec: Object.spec{replicas: object.spec.nothing}}"),
            "expression 'Object{spec: Object.spec{replicas: object.spec.nothing}}' resulted in error:"
            " no such key: nothing",
        ),
        (
            applying("Object{spec: Object.specx{replicas: 1}}"),
            'type mismatch: unexpected type name "Object.specx", expected "Object.spec", which matches field name'
            " path from root Object type",
        ),
        (
            applying("Object{spec: Object.spec{replicasx: 1}}"),
            "error applying patch: failed to convert patch object to typed object: .spec.replicasx: field not"
            " declared in schema",
        ),
        (
            applying('Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {"l": "v"}}}}'),
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs:"
            " .spec.selector",
        ),
        (
            operating('[JSONPatch{op: "replace", path: "/spec/template/spec/containers/-", value: {"name": "x"}}]'),
            "JSONPath: replace operation does not apply: doc is missing key: /spec/template/spec/containers/-:"
            " missing value",
        ),
        (
            operating('[JSONPatch{op: "remove", path: "/metadata/labels/x"}]'),
            'JSONPath: remove operation does not apply: doc is missing path: "/metadata/labels/x": missing value',
        ),
    ],
)  # fmt: skip
async def test_a_failure_is_told_or_ignored(api: Api, mutation: Json, why: str) -> None:
    await put_in_force(api, of_deployments(mutation), mutating_binding())
    reply = await api.post(DEPLOYMENTS, DEPLOYMENT)
    message = f"policy 'm' with binding 'b' denied request: {why}"
    assert (reply.code, reply.body["reason"], reply.message) == (403, "Invalid", message)
    assert reply.body["details"] == {
        "name": "d",
        "group": "apps",
        "kind": "deployments",
        "causes": [{"message": message}],
    }
    ignoring = of_deployments(mutation, failurePolicy="Ignore")
    assert (await api.patch(f"{GROUP}/mutatingadmissionpolicies/m", ignoring)).code == 200
    await put_in_force(api, mutating("after", [LABEL]))
    assert (await api.post(DEPLOYMENTS, DEPLOYMENT)).code == 201


async def test_fields_that_a_type_does_not_have_are_an_error_of_the_server(api: Api) -> None:
    expression = """[JSONPatch{op: "add", path: "/spec/template/spec/containers/-",
        value: Object.spec.template.spec.containers{name: "y", imagee: "y"}}]"""
    await put_in_force(api, of_deployments(operating(expression)), mutating_binding())
    reply = await api.post(DEPLOYMENTS, DEPLOYMENT)
    text = 'strict decoding error: unknown field "spec.template.spec.containers[1].imagee"'
    assert (reply.code, reply.message) == (500, f"Internal error occurred: {text}")


async def test_parameters_that_are_not_there_refuse_the_write(api: Api) -> None:
    spec: Json = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    ref = {"name": "rules", "parameterNotFoundAction": "Deny"}
    await put_in_force(api, mutating(mutations=[LABEL], **spec), mutating_binding(paramRef=ref))
    reply = await api.post(CONFIGMAPS, configmap())
    why = (
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )
    assert (reply.code, reply.body["reason"]) == (403, "Forbidden")
    assert reply.message == f"policy 'm' with binding 'b' denied request: {why}"


async def test_validating_policies_judge_what_mutating_ones_made(api: Api) -> None:
    judged = {"expression": "object.metadata.labels.seen == 'no'"}
    await put_in_force(api, mutating(mutations=[LABEL]), mutating_binding())
    await put_in_force(api, policy(validations=[judged]), binding())
    assert (await api.post(CONFIGMAPS, configmap(labels={"seen": "no"}))).code == 422


async def test_a_dry_run_shows_what_would_be_made(api: Api) -> None:
    await put_in_force(api, mutating(mutations=[LABEL]), mutating_binding())
    reply = await api.post(f"{CONFIGMAPS}?dryRun=All", configmap())
    assert reply.body["metadata"]["labels"] == {"seen": "CREATE"}
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 404


async def test_defaults_follow_every_mutation(api: Api) -> None:
    replicas = applying("Object{spec: Object.spec{revisionHistoryLimit: object.spec.replicas}}")
    drop = operating('[JSONPatch{op: "remove", path: "/spec/replicas"}]')
    await put_in_force(api, of_deployments(drop, replicas), mutating_binding())
    changed = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 7}}
    spec = (await api.post(DEPLOYMENTS, changed)).body["spec"]
    assert (spec["replicas"], spec["revisionHistoryLimit"]) == (1, 1)


async def test_a_policy_that_has_gone_changes_nothing(api: Api) -> None:
    await put_in_force(api, mutating(mutations=[LABEL]), mutating_binding())
    await api.delete(f"{GROUP}/mutatingadmissionpolicybindings/b")
    await put_in_force(api, mutating("other", [LABEL]))
    assert "labels" not in (await api.post(CONFIGMAPS, configmap())).body["metadata"]


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        ({"mutations": []}, "spec.mutations", "Required value: mutations must contain at least one item"),
        (
            {"mutations": [applying("'x'")]},
            "spec.mutations[0].applyConfiguration.expression",
            "Invalid value: \"'x'\": must evaluate to Object but got string",
        ),
        (
            {"mutations": [operating("{}")]},
            "spec.mutations[0].jsonPatch.expression",
            'Invalid value: "{}": must evaluate to list(JSONPatch) but got map(dyn, dyn)',
        ),
        (
            {"mutations": [{"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"}}]},
            "spec.mutations[0].jsonPatch",
            "Required value: must be specified when patchType is JSONPatch",
        ),
        (
            {"mutations": [applying("Object{a: Foo{}}")]},
            "spec.mutations[0].applyConfiguration.expression",
            "Invalid value: \"Object{a: Foo{}}\": compilation failed: ERROR: <input>:1:14: undeclared reference to"
            " 'Foo' (in container '')\n | Object{a: Foo{}}\n | .............^",
        ),
        (
            {"matchConstraints": {"resourceRules": [{**CONFIGMAPS_RULE, "operations": ["DELETE"]}]}},
            "spec.matchConstraints.resourceRules.operations",
            'Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
        ),
        (
            {"variables": [{"name": "x", "expression": "params.a"}]},
            "spec.variables[0].expression",
            "Invalid value: \"params.a\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'"
            " (in container '')\n | params.a\n | ^",
        ),
        ({"reinvocationPolicy": ""}, "spec.reinvocationPolicy", "Required value"),
    ],
)  # fmt: skip
async def test_a_policy_that_could_not_work_is_refused(api: Api, spec: Json, field: str, text: str) -> None:
    body = mutating(mutations=[LABEL])
    body["spec"] |= spec
    reply = await api.post(f"{GROUP}/mutatingadmissionpolicies", body)
    causes = [(cause["field"], cause["message"]) for cause in reply.body["details"]["causes"]]
    assert (reply.code, causes[0]) == (422, (field, text))


async def test_custom_objects_are_changed_by_their_schema(api: Api) -> None:
    rule = {
        "apiGroups": ["example.com"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["widgets"],
    }
    keyed: Json = {
        "type": "object",
        "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
        "required": ["k"],
    }
    parts = {
        "type": "array",
        "items": keyed,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    schema = spec_schema(parts=parts, size={"type": "integer", "default": 7}, flat=LIST)
    await Crds(api).define(version(schema=schema))
    change = applying(
        """Object{spec: Object.spec{parts: [Object.spec.parts{k: "a", v: object.spec.size}]}}"""
    )
    flat = applying("Object{spec: Object.spec{flat: ['x']}}")
    match = {"resourceRules": [rule]}
    await put_in_force(api, mutating(mutations=[change], matchConstraints=match), mutating_binding())
    made = await api.post(WIDGETS, widget(spec={"parts": [{"k": "b"}, {"k": "a"}]}))
    assert made.body["spec"] == {"parts": [{"k": "b"}, {"k": "a", "v": 7}], "size": 7}
    await put_in_force(
        api, mutating("flat", [flat], matchConstraints=match), mutating_binding("flat", "flat")
    )
    refused = await api.post(WIDGETS, widget("x", spec={}))
    assert refused.message.endswith("may not mutate atomic arrays, maps or structs: .spec.flat")


async def test_deletions_are_left_alone(api: Api) -> None:
    everything = {**CONFIGMAPS_RULE, "operations": ["*"]}
    broken = operating('[JSONPatch{op: "remove", path: "/data/none/none"}]')
    await api.post(CONFIGMAPS, configmap())
    match = {"resourceRules": [everything]}
    await put_in_force(api, mutating(mutations=[broken], matchConstraints=match), mutating_binding())
    assert (await api.patch(f"{CONFIGMAPS}/a", {"data": {"a": "1"}})).code == 403
    assert (await api.delete(f"{CONFIGMAPS}/a")).code == 200


async def test_long_mutations_are_evaluated_to_their_end_or_their_bound(api: Api) -> None:
    def size(outer: int) -> Json:
        long = f"lists.range({outer}).all(a, lists.range(200).all(b, a + b >= 0))"
        return applying(f"Object{{metadata: Object.metadata{{labels: {{'long': string({long})}}}}}}")

    await put_in_force(api, mutating(mutations=[size(200)]), mutating_binding())
    assert (await api.post(CONFIGMAPS, configmap())).body["metadata"]["labels"] == {"long": "true"}
    await put_in_force(api, mutating("n", [size(2000)]), mutating_binding("n", "n"))
    reply = await api.post(CONFIGMAPS, configmap("b"))
    assert reply.code == 403
    assert reply.message.endswith("resulted in error: operation cancelled: actual cost limit exceeded")
