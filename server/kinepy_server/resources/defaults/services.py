"""Defaults of Services. Addresses and ports are allocated elsewhere."""

from collections.abc import Callable, Mapping

from kinepy_server.resources.resource import JsonObject

AFFINITY_SECONDS = 10800


def _service(spec: JsonObject) -> None:
    kind = spec["type"]
    if spec.get("sessionAffinity") == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        if client.get("timeoutSeconds") is None:
            client["timeoutSeconds"] = AFFINITY_SECONDS
    elif spec.get("sessionAffinity") == "None":
        spec.pop("sessionAffinityConfig", None)
    for port in spec.get("ports") or ():
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if kind in ("NodePort", "LoadBalancer") and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in ("NodePort", "LoadBalancer", "ClusterIP") and not spec.get("internalTrafficPolicy"):
        spec["internalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True


COMPUTED: Mapping[str, Callable[[JsonObject], None]] = {"v1.ServiceSpec": _service}
