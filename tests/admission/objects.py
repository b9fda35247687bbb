"""Policies and webhooks as clients send them, and waiting until they are in force."""

import asyncio
from collections.abc import Sequence
from typing import Any

from tests.admission.hooks import ca_bundle
from tests.http.writing import Api

GROUP = "/apis/admissionregistration.k8s.io/v1"
Json = dict[str, Any]
CONFIGMAPS_RULE: Json = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["*"],
    "resources": ["configmaps"],
}


def policy(name: str = "p", validations: Sequence[Json] = (), **spec: Any) -> Json:
    """A policy about ConfigMaps."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [CONFIGMAPS_RULE]},
            "validations": list(validations),
            **spec,
        },
    }


def binding(name: str = "b", policy_name: str = "p", actions: Sequence[str] = ("Deny",), **spec: Any) -> Json:
    """A binding of a policy."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": policy_name, "validationActions": list(actions), **spec},
    }


def mutating(name: str = "m", mutations: Sequence[Json] = (), **spec: Any) -> Json:
    """A policy that changes ConfigMaps."""
    rule = {**CONFIGMAPS_RULE, "operations": ["CREATE", "UPDATE"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "mutations": list(mutations),
            "reinvocationPolicy": "Never",
            **spec,
        },
    }


def mutating_binding(policy_name: str = "m", name: str = "b", **spec: Any) -> Json:
    """A binding of a mutating policy."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": policy_name, **spec},
    }


def applying(expression: str) -> Json:
    """A mutation that applies a configuration."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def operating(expression: str) -> Json:
    """A mutation by the operations of a JSON patch."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def webhooks(kind: str, *hooks: Json, name: str = "w") -> Json:
    """A configuration of webhooks; `kind` is Mutating or Validating."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(hooks),
    }


def webhook(url: str, name: str = "w.example.com", **more: Any) -> Json:
    """A webhook about ConfigMaps."""
    return {
        "name": name,
        "clientConfig": {"url": url, "caBundle": ca_bundle()},
        "rules": [CONFIGMAPS_RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
        **more,
    }


async def put_in_force(api: Api, *objects: Json) -> None:
    """Store objects, and wait until the server obeys them."""
    plurals = {
        "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
        "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
        "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
        "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
        "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
        "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    }
    names = set()
    for obj in objects:
        reply = await api.post(f"{GROUP}/{plurals[obj['kind']]}", obj)
        assert reply.code == 201, reply.content
        names.add(f"/registry/{plurals[obj['kind']]}/{obj['metadata']['name']}".encode())
    extensions = api.app.context.extensions
    async with asyncio.timeout(5):
        while extensions.configuration is None or not names <= {
            kv.key for kv in extensions.configuration.objects
        }:
            await api.get("/api/v1/namespaces/default")
