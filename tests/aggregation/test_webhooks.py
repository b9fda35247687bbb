"""Webhooks that are named by a Service are found where it leads to, as backends are."""

import pytest

from kinepy_server.context import Context
from tests.admission.hooks import allow, deny, hook_server
from tests.aggregation.aggregating import SERVICES
from tests.aggregation.backend import NAME, backend_tls, ca_bundle, service
from tests.aggregation.test_availability import endpoint_slice, ports
from tests.http.writing import CONFIGMAPS, Api, configmap

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def hook(port: int) -> dict[str, object]:
    client = {
        "caBundle": ca_bundle(),
        "service": {"namespace": "default", "name": NAME, "port": port, "path": "/h"},
    }
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    one = {
        "name": "a.example.com", "clientConfig": client, "rules": [rule], "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }  # fmt: skip
    return {"metadata": {"name": "h"}, "webhooks": [one]}


@pytest.mark.parametrize("by", ["name outside", "slices"])
async def test_one_behind_a_service_is_asked(api: Api, by: str) -> None:
    async with hook_server(deny(message="no"), backend_tls()) as hooks:
        port = int(hooks.url.rpartition(":")[2].partition("/")[0])
        if by == "slices":
            await api.post(SERVICES, service(ports=ports(443)))
            await api.post(SLICES, endpoint_slice(port))
        else:
            await api.post(SERVICES, service())
        assert (await api.post(HOOKS, hook(443 if by == "slices" else port))).code == 201
        refused = await api.post(CONFIGMAPS, configmap())
        assert "denied the request: no" in refused.message
        hooks.answer = allow
        assert (await api.post(CONFIGMAPS, configmap())).code == 201


async def test_one_whose_service_leads_nowhere_is_looked_up_by_its_name(
    memory_api: Api, memory: Context
) -> None:
    await memory_api.post(SERVICES, service(ports=ports(443)))
    assert (await memory_api.post(HOOKS, hook(443))).code == 201
    failed = await memory_api.post(CONFIGMAPS, configmap())
    assert (failed.code, f"https://{NAME}.default.svc:443/h?timeout=10s" in failed.message) == (500, True)
    assert "no such host" in failed.message


async def test_its_certificate_must_be_of_the_service_s_name(memory_api: Api, memory: Context) -> None:
    async with hook_server(allow, backend_tls(name="other")) as hooks:
        port = int(hooks.url.rpartition(":")[2].partition("/")[0])
        await memory_api.post(SERVICES, service())
        await memory_api.post(HOOKS, hook(port))
        assert "x509" in (await memory_api.post(CONFIGMAPS, configmap())).message
