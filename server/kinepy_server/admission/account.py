"""The service account of pods: each has one that exists, and its containers get its token."""

from collections.abc import Callable, Iterator
from random import Random

import orjson

from kinepy import KeyValue
from kinepy_server.context import Context
from kinepy_server.errors import forbidden
from kinepy_server.objects.names import generated_name
from kinepy_server.resources.resource import JsonObject, Resource

DEFAULT_ACCOUNT = "default"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX = "kube-api-access-"
MIRROR = "kubernetes.io/config.mirror"
_DEFAULT_TRIES, _RETRY_S = 10, 0.15
"""A new namespace gets its default account a moment later: so long a pod waits for it."""


async def pod_account(
    context: Context, resource: Resource, pod: JsonObject
) -> Callable[[JsonObject], None] | None:
    """Gives pods their service account with its pull secrets and token; one that does not exist is refused.

    Does nothing where nobody makes the accounts `default`.
    """
    if not context.accounts_for_pods or MIRROR in (pod["metadata"].get("annotations") or {}):
        return None
    spec = pod.get("spec") or {}
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or DEFAULT_ACCOUNT
    namespace = pod["metadata"].get("namespace", "")
    kv = await _account(context, namespace, name)
    account: JsonObject | None = None if kv is None else orjson.loads(kv.value)

    def admit(pod: JsonObject) -> None:
        if account is None:
            why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
            raise forbidden(resource, pod["metadata"].get("name", ""), why)
        _give(pod["spec"], account, context.random)

    return admit


async def _account(context: Context, namespace: str, name: str) -> KeyValue | None:
    """The account: from memory, which nearly always has it; else from the newest state."""
    accounts = context.registry.lookup("", "v1", "serviceaccounts")
    assert accounts is not None, "service accounts are always served"
    key = accounts.key(namespace, name)
    kv = await context.store.get(key, consistent=False) or await context.store.get(key)
    for _ in range(_DEFAULT_TRIES - 1):
        if kv is not None or name != DEFAULT_ACCOUNT:
            break
        await context.clock.sleep(_RETRY_S)
        kv = await context.store.get(key)
    return kv


def _give(spec: JsonObject, account: JsonObject, random: Random) -> None:
    spec["serviceAccountName"] = spec["serviceAccount"] = account["metadata"]["name"]
    if _mounts(spec, account):
        _mount(spec, random)
    secrets = account.get("imagePullSecrets")
    if secrets and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(one) for one in secrets]


def _mounts(spec: JsonObject, account: JsonObject) -> bool:
    """What the pod says counts, then what the account says."""
    for one in (spec, account):
        said = one.get("automountServiceAccountToken")
        if said is not None:
            return bool(said)
    return True


def _mount(spec: JsonObject, random: Random) -> None:
    """Mount the token in every container that has nothing in its place."""
    names = (volume.get("name", "") for volume in spec.get("volumes") or ())
    present = next((name for name in names if name.startswith(VOLUME_PREFIX)), "")
    name = present or generated_name(VOLUME_PREFIX, random)
    bare = list(_without_token(spec))
    for container in bare:
        mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
    if bare and not present:
        spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "projected": _token_volume()}]


def _without_token(spec: JsonObject) -> Iterator[JsonObject]:
    for field in ("initContainers", "containers"):
        for container in spec.get(field) or ():
            mounts = container.get("volumeMounts") or ()
            if all(mount.get("mountPath") != MOUNT_PATH for mount in mounts):
                yield container


def _token_volume() -> JsonObject:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "defaultMode": 0o644,
        "sources": [
            # A little more than an hour: by that, tokens that were made for pods are told from others.
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
    }
