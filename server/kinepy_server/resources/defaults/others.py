"""Defaults of the remaining types that depend on other fields."""

from collections.abc import Callable, Mapping

from kinepy_server.resources.resource import JsonObject

RBAC_GROUP = "rbac.authorization.k8s.io"
SCALE_DOWN = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
SCALE_UP = [{"type": "Pods", "value": 4, "periodSeconds": 15}, *SCALE_DOWN]


def _subject(subject: JsonObject) -> None:
    if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
        subject["apiGroup"] = RBAC_GROUP


def _limit_range_item(item: JsonObject) -> None:
    if item.get("type") != "Container":
        return
    default = {**(item.get("max") or {}), **(item.get("default") or {})}
    request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
    if default:
        item["default"] = default
    if request:
        item["defaultRequest"] = request


def _network_policy(spec: JsonObject) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _device_request(request: JsonObject) -> None:
    if request.get("allocationMode") == "ExactCount" and not request.get("count"):
        request["count"] = 1


def _behavior(behavior: JsonObject) -> None:
    up, down = behavior.setdefault("scaleUp", {}), behavior.setdefault("scaleDown", {})
    if up.get("stabilizationWindowSeconds") is None:
        up["stabilizationWindowSeconds"] = 0
    for rules, policies in ((up, SCALE_UP), (down, SCALE_DOWN)):
        if not rules.get("selectPolicy"):
            rules["selectPolicy"] = "Max"
        if not rules.get("policies"):
            rules["policies"] = [dict(policy) for policy in policies]


def _names(names: JsonObject) -> None:
    kind = names.get("kind", "")
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if not names.get("listKind"):
        names["listKind"] = f"{kind}List"


COMPUTED: Mapping[str, Callable[[JsonObject], None]] = {
    "apiextensions.v1.CustomResourceDefinitionNames": _names,
    "autoscaling.v2.HorizontalPodAutoscalerBehavior": _behavior,
    "networking.v1.NetworkPolicySpec": _network_policy,
    "rbac.v1.Subject": _subject,
    "resource.v1.DeviceSubRequest": _device_request,
    "resource.v1.ExactDeviceRequest": _device_request,
    "v1.LimitRangeItem": _limit_range_item,
}
