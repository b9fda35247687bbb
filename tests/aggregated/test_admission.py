"""The host's webhooks and policies judge what is written behind it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.admission.hooks import HookServer, allow, ca_bundle, deny, hook_server, patching
from tests.aggregated.servers import WIDGETS, Behind
from tests.custom.definitions import GROUP, widget
from tests.patience import soon
from tests.processes import ServerProcess, ok

ROOT = "/apis/admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["widgets"], "operations": ["CREATE"]}


@asynccontextmanager
async def stored(host: ServerProcess, *objects: tuple[str, Mapping[str, Any]]) -> AsyncIterator[None]:
    """Objects of the host, by their plurals, while the block runs."""
    async with host.async_client() as admin:
        for path, obj in objects:
            ok(await admin.post(path, json=obj), 201)
        try:
            yield
        finally:
            for path, obj in objects:
                ok(await admin.delete(f"{path}/{obj['metadata']['name']}"))


def webhook(hooks: HookServer, kind: str, **members: Any) -> tuple[str, Mapping[str, Any]]:
    """A configuration with one webhook."""
    one = {
        "name": "judge.example.com",
        "clientConfig": {"url": hooks.url, "caBundle": ca_bundle()},
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return f"{ROOT}/{kind}webhookconfigurations", {"metadata": {"name": "judge"}, "webhooks": [one | members]}


def policy(expression: str, **spec: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """A policy and what binds it."""
    bound = {name: spec.pop(name) for name in ("paramRef", "matchResources") if name in spec}
    judged = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": expression}]}
    binding = {"policyName": "judge", "validationActions": ["Deny"]}
    return [
        (f"{ROOT}/validatingadmissionpolicies", {"metadata": {"name": "judge"}, "spec": judged | spec}),
        (
            f"{ROOT}/validatingadmissionpolicybindings",
            {"metadata": {"name": "judge"}, "spec": binding | bound},
        ),
    ]


async def tried(here: httpx.AsyncClient, namespace: str = "default", **members: Any) -> httpx.Response:
    """A widget is created, if it may be, without a trace."""
    path = WIDGETS.replace("default", namespace)
    return await here.post(f"{path}?dryRun=All", json=widget("tried", **members))


async def test_a_webhook_may_refuse_and_is_told_who_asks(host: ServerProcess, behind: Behind) -> None:
    async with hook_server(deny(message="no widgets")) as hooks, behind.server.async_client() as here:
        async with stored(host, webhook(hooks, "validating")):
            await soon(lambda: _is(tried(here), 400))
            reply = await tried(here)
        assert "denied the request: no widgets" in reply.json()["message"]
        assert hooks.requests[-1]["userInfo"]["username"] == "admin"
        await soon(lambda: _is(tried(here), 201))


async def test_a_webhook_may_change_what_is_written(host: ServerProcess, behind: Behind) -> None:
    change = patching({"op": "add", "path": "/spec", "value": {"a": "changed"}})
    async with (
        hook_server(change) as hooks,
        behind.server.async_client() as here,
        stored(host, webhook(hooks, "mutating")),
    ):

        async def is_changed() -> bool:
            spec: object = (await tried(here)).json().get("spec")
            return spec == {"a": "changed"}

        await soon(is_changed)


async def test_namespaces_are_selected_by_the_host_s_labels(host: ServerProcess, behind: Behind) -> None:
    async with (
        hook_server(deny()) as hooks,
        behind.server.async_client() as here,
        host.async_client() as there,
    ):
        labels = {"metadata": {"name": "guarded", "labels": {"guarded": "yes"}}}
        ok(await there.post("/api/v1/namespaces", json=labels), 201)
        chosen = {"namespaceSelector": {"matchLabels": {"guarded": "yes"}}}
        async with stored(host, webhook(hooks, "validating", **chosen)):
            await soon(lambda: _is(tried(here, "guarded"), 400))
            ok(await tried(here), 201)


async def test_a_policy_judges(host: ServerProcess, behind: Behind) -> None:
    judge = policy("has(object.spec) && object.spec.a != 'bad'")
    async with behind.server.async_client() as here, stored(host, *judge):
        await soon(lambda: _is(tried(here, spec={"a": "bad"}), 422))
        ok(await tried(here, spec={"a": "good"}), 201)


async def test_a_policy_has_its_parameters_from_the_host(host: ServerProcess, behind: Behind) -> None:
    configmaps = "/api/v1/namespaces/default/configmaps"
    wanted = {"metadata": {"name": "wanted"}, "data": {"a": "good"}}
    reference = {"name": "wanted", "namespace": "default", "parameterNotFoundAction": "Deny"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    judge = policy("object.spec.a == params.data.a", paramKind=kind, paramRef=reference)
    async with behind.server.async_client() as here, stored(host, *judge):
        await soon(lambda: _is(tried(here, spec={"a": "good"}), 422))
        async with stored(host, (configmaps, wanted)):
            ok(await tried(here, spec={"a": "good"}), 201)
            assert (await tried(here, spec={"a": "bad"})).status_code == 422


@pytest.mark.parametrize(("failure", "code"), [("Fail", 500), ("Ignore", 400)])
async def test_a_webhook_that_is_away_refuses_or_is_passed_over(
    failure: str, code: int, host: ServerProcess, behind: Behind
) -> None:
    async with hook_server(allow) as gone:
        pass
    path, judges = webhook(gone, "validating", failurePolicy=failure)
    async with hook_server(allow if failure == "Fail" else deny()) as there:
        _, others = webhook(there, "validating", name="other.example.com")
        both = {**judges, "webhooks": [*judges["webhooks"], *others["webhooks"]]}
        async with behind.server.async_client() as here, stored(host, (path, both)):
            await soon(lambda: _is(tried(here), code))


async def _is(reply: Any, code: int) -> bool:
    return bool((await reply).status_code == code)
