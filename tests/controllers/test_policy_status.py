"""The status of validating policies tells what is wrong with their expressions for the types that they name."""

import asyncio
from typing import Any

import pytest

from kinepy import KeyRange
from kinepy_server.context import Context
from kinepy_server.controllers.policy_status import NAME
from kinepy_server.dynamic_admission.extensions import POLICIES
from kinepy_server.dynamic_admission.type_checking import expression_warnings, kinds_of
from kinepy_server.resources.builtins import builtin_registry
from tests.admission.objects import GROUP, policy
from tests.custom.definitions import GROUP as DEFINED
from tests.custom.definitions import Crds, spec_schema, version
from tests.http.writing import Api, api_over

Json = dict[str, Any]
PLURAL = f"{GROUP}/validatingadmissionpolicies"
MANAGER = "validatingadmissionpolicy-status-controller"
WAIT_S = 20


def rule(group: str, *plurals: str, version: str = "v1") -> Json:
    return {"apiGroups": [group], "apiVersions": [version], "operations": ["*"], "resources": list(plurals)}


def about(*rules: Json, expression: str = "true", **spec: Any) -> Json:
    """A policy of one expression about what rules name."""
    match = {"resourceRules": list(rules)}
    return policy(validations=[{"expression": expression}], matchConstraints=match, **spec)


def told(expression: str, *rules: Json, **spec: Any) -> list[Json]:
    checked = about(*(rules or [rule("apps", "deployments")]), expression=expression, **spec)
    return expression_warnings(checked, builtin_registry())


def names(*rules: Json) -> list[str]:
    return [str(kind) for kind in kinds_of(about(*rules)["spec"], builtin_registry())]


def undefined(kind: str) -> str:
    return f"{kind}: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n"


def test_a_warning_names_each_type_in_the_originals_words() -> None:
    assert told("object.replicas > 1", rule("apps", "replicasets", "deployments")) == [
        {
            "fieldRef": "spec.validations[0].expression",
            "warning": undefined("apps/v1, Kind=Deployment") + "\n" + undefined("apps/v1, Kind=ReplicaSet"),
        }
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.replicas > 1",
        "object.spec.template.spec.containers.all(c, c.image.startsWith('x/'))",
        "object.metadata.labels['a'] == oldObject.metadata.labels['a']",
        "object.metadata.creationTimestamp < timestamp('2030-01-01T00:00:00Z')",
        "object.spec.strategy.rollingUpdate.maxSurge == 1 || object.spec.strategy.rollingUpdate.maxSurge == '1%'",
        "authorizer.group('').resource('pods').check('create').allowed()",
        "request.userInfo.username == namespaceObject.metadata.name",
        "object.spec.template.spec.containers[0].ports[0].containerPort",
    ],
)
def test_what_fits_the_type_is_not_warned_of(expression: str) -> None:
    assert told(expression) == []


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("object.spec.replicas == '1'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("object.spec.paused.all(x, x)", "cannot be range of a comprehension"),
        ("object.spec.nothing", "undefined field 'nothing'"),
        ("has(oldObject.spec.nothing)", "undefined field 'nothing'"),
        ("params.a", "undeclared reference to 'params' (in container '')"),
        ("variables.a", "undefined field 'a'"),
    ],
)
def test_what_does_not_fit_is_warned_of(expression: str, problem: str) -> None:
    (warning,) = told(expression)
    assert problem in warning["warning"]


def test_message_expressions_are_checked_too() -> None:
    checked = about(rule("", "pods"))
    checked["spec"]["validations"].append({"expression": "true", "messageExpression": "object.kind + 1"})
    (warning,) = expression_warnings(checked, builtin_registry())
    assert warning["fieldRef"] == "spec.validations[1].messageExpression"


def test_types_of_variables_and_parameters_are_known() -> None:
    texts = {"params": {"apiVersion": "v1", "kind": "ConfigMap"}}
    assert told("params.data['a'] == object.metadata.name", paramKind=texts["params"]) == []
    assert "undefined field 'spec'" in told("params.spec", paramKind=texts["params"])[0]["warning"]
    assert told("params.spec", paramKind={"apiVersion": "example.com/v1", "kind": "Unknown"}) == []
    variables = [{"name": "n", "expression": "object.spec.replicas"}]
    assert told("variables.n > 1", variables=variables) == []
    assert "(int, string)" in told("variables.n == 'a'", variables=variables)[0]["warning"]


def test_a_variable_that_does_not_fit_may_be_anything() -> None:
    variables = [{"name": "n", "expression": "object.nothing"}, {"name": "s", "expression": "object.spec"}]
    assert told("variables.n == 'a' && variables.s.nothing", variables=variables) == []


def test_only_what_is_named_is_checked_and_not_too_much() -> None:
    assert names(rule("apps", "*"), rule("*", "pods"), rule("apps", "deployments", version="*")) == []
    assert names(rule("apps", "deployments/scale", "deployments"), rule("", "pods")) == [
        "/v1, Kind=Pod",
        "apps/v1, Kind=Deployment",
    ]
    plurals = sorted(one.plural for one in builtin_registry().resources("", "v1"))
    assert len(names(rule("", *plurals), rule("apps", "deployments"))) == 10


def test_a_rule_for_the_core_group_names_others_of_that_version_too() -> None:
    assert names(rule("", "events")) == ["/v1, Kind=Event", "events.k8s.io/v1, Kind=Event"]


def test_types_that_contain_themselves_end() -> None:
    crds = rule("apiextensions.k8s.io", "customresourcedefinitions")
    schema = "object.spec.versions[0].schema.openAPIV3Schema"
    assert told(f"{schema}.properties['a'].type == ''", crds)
    assert told(f"{schema}.type == ''", crds) == []


async def seen(context: Context, api: Api, name: str, generation: int = 1) -> Json:
    """A policy whose status tells of a generation."""
    async with asyncio.timeout(WAIT_S), context.store.watch(KeyRange.prefix(POLICIES)) as watch:
        while True:
            found: Json = (await api.get(f"{PLURAL}/{name}")).body
            if found.get("status", {}).get("observedGeneration") == generation:
                return found
            await watch.next(timeout_s=1)


async def test_the_status_is_applied_by_the_controller(context: Context) -> None:
    async with api_over(context, controllers=[NAME]) as api:
        made = await api.post(PLURAL, about(rule("apps", "deployments"), expression="object.replicas > 1"))
        assert made.code == 201
        found = await seen(context, api, "p")
    (warning,) = found["status"]["typeChecking"]["expressionWarnings"]
    assert warning["warning"] == undefined("apps/v1, Kind=Deployment")
    entry = next(one for one in found["metadata"]["managedFields"] if one["manager"] == MANAGER)
    assert (entry["operation"], entry["subresource"]) == ("Apply", "status")
    checking: Json = {"f:expressionWarnings": {}}
    assert entry["fieldsV1"] == {"f:status": {"f:observedGeneration": {}, "f:typeChecking": checking}}
    assert found["metadata"]["generation"] == 1


async def test_a_changed_spec_is_looked_at_again(context: Context) -> None:
    async with api_over(context, controllers=[NAME]) as api:
        await api.post(PLURAL, about(rule("apps", "deployments"), expression="object.replicas > 1"))
        await seen(context, api, "p")
        right = {"spec": {"validations": [{"expression": "object.spec.replicas > 1"}]}}
        await api.patch(f"{PLURAL}/p", right)
        found = await seen(context, api, "p", 2)
    # What the applier owned and gives up goes, and what holds nothing any more with it.
    assert found["status"] == {"observedGeneration": 2}


async def test_policies_that_were_there_before_are_looked_at(context: Context, api: Api) -> None:
    await api.post(PLURAL, about(rule("apps", "deployments")))
    async with api_over(context, controllers=[NAME]) as later:
        assert (await seen(context, later, "p"))["status"]["typeChecking"] == {}


async def test_objects_of_definitions_have_types(context: Context) -> None:
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    schema = spec_schema(size={"type": "integer"}, template=embedded)
    good = "object.spec.size > 1 && object.spec.template.metadata.labels['a'] == object.metadata.name"
    async with api_over(context, controllers=[NAME]) as api:
        await Crds(api).define(version(schema=schema))
        for name, expression in (("good", good), ("bad", "object.spec.size == 'a'")):
            body = about(rule(DEFINED, "widgets"), expression=expression)
            body["metadata"]["name"] = name
            assert (await api.post(PLURAL, body)).code == 201
        assert (await seen(context, api, "good"))["status"]["typeChecking"] == {}
        bad = (await seen(context, api, "bad"))["status"]["typeChecking"]["expressionWarnings"]
    assert "(int, string)" in bad[0]["warning"]
