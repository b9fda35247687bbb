"""What every namespace has from its beginning: a service account, and the certificate to trust the server by (NS-1)."""

from kinepy_server.context import Context
from kinepy_server.controllers.per_namespace import Wanted, keep_in_namespaces
from kinepy_server.resources.resource import JsonObject

ACCOUNT = "default"
ROOT_CA = "kube-root-ca.crt"
_CERTIFICATE = "ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the"
    " internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of"
    " Kubernetes clusters."
)


async def keep_default_accounts(context: Context) -> None:
    """Keep the service account `default` in every active namespace; runs until cancelled."""
    accounts = context.registry.lookup("", "v1", "serviceaccounts")
    assert accounts is not None, "service accounts are always served"
    wanted = Wanted(
        controller="serviceaccounts",
        actor="system:serviceaccount:kube-system:service-account-controller",
        resource=accounts,
        name=ACCOUNT,
        make=lambda: {"metadata": {}},
    )
    await keep_in_namespaces(context, wanted)


async def publish_root_ca(context: Context) -> None:
    """Keep the ConfigMap `kube-root-ca.crt` in every active namespace; runs until cancelled."""
    configmaps = context.registry.lookup("", "v1", "configmaps")
    assert configmaps is not None, "config maps are always served"
    data = {_CERTIFICATE: context.served.root_ca}

    def make() -> JsonObject:
        return {"metadata": {"annotations": {"kubernetes.io/description": _DESCRIPTION}}, "data": dict(data)}

    def correct(obj: JsonObject) -> bool:
        if obj.get("data") == data:
            return False
        obj["data"] = dict(data)
        return True

    wanted = Wanted(
        controller="rootca",
        actor="system:serviceaccount:kube-system:root-ca-cert-publisher",
        resource=configmaps,
        name=ROOT_CA,
        make=make,
        correct=correct,
    )
    await keep_in_namespaces(context, wanted)
