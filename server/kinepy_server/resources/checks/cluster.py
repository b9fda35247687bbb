"""Checks of nodes, quotas, roles, and of what governs the API itself."""

from base64 import b64decode
from typing import Any

from kinepy_server.resources.checks.amounts import resource_list
from kinepy_server.resources.checks.api_services import api_service
from kinepy_server.resources.checks.causes import Path, forbidden, invalid, required
from kinepy_server.resources.checks.entries import (
    DNS_LABEL,
    DNS_SUBDOMAIN,
    NON_NEGATIVE,
    PATH_SEGMENT,
    POSITIVE,
    QUALIFIED_NAME,
    REQUIRED,
    Table,
    at_least,
    at_most,
    between,
    each,
    one_of,
    require,
    unique,
)
from kinepy_server.resources.resource import FieldError
from kinepy_server.schema.quantity import quantity_value

VERBS_REQUIRED = require("verbs must contain at least one value")
RBAC_GROUP = "rbac.authorization.k8s.io"
USAGES = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip
USER_PRIORITY_MAX = 1_000_000_000


def _rule(rule: Any, path: Path, errors: list[FieldError]) -> None:
    groups, resources = rule.get("apiGroups"), rule.get("resources")
    paths = rule.get("nonResourceURLs")
    if paths:
        if groups or resources or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid((path, "nonResourceURLs"), paths, text))
        return
    if not groups:
        errors.append(required((path, "apiGroups"), "resource rules must supply at least one api group"))
    if not resources:
        errors.append(required((path, "resources"), "resource rules must supply at least one resource"))


def _no_paths(role: Any, path: Path, errors: list[FieldError]) -> None:
    for index, rule in enumerate(role.get("rules") or ()):
        if rule.get("nonResourceURLs"):
            where = (((path, "rules"), index), "nonResourceURLs")
            text = "namespaced rules cannot apply to non-resource URLs"
            errors.append(invalid(where, rule["nonResourceURLs"], text))


def _role_kinds(*kinds: str) -> Any:
    def check(binding: Any, path: Path, errors: list[FieldError]) -> None:
        reference = binding.get("roleRef") or {}
        where = (path, "roleRef")
        one_of(RBAC_GROUP)(reference.get("apiGroup", ""), (where, "apiGroup"), errors)
        one_of(*kinds)(reference.get("kind", ""), (where, "kind"), errors)
        if not reference.get("name"):
            errors.append(required((where, "name")))
        else:
            PATH_SEGMENT(reference["name"], (where, "name"), errors)

    return check


def _subject(subject: Any, path: Path, errors: list[FieldError]) -> None:
    if not subject.get("name"):
        errors.append(required((path, "name")))
    match subject.get("kind"):
        case "ServiceAccount":
            if subject.get("apiGroup"):
                one_of("")(subject["apiGroup"], (path, "apiGroup"), errors)
            if not subject.get("namespace"):
                errors.append(required((path, "namespace")))
        case "User" | "Group":
            one_of(RBAC_GROUP)(subject.get("apiGroup", ""), (path, "apiGroup"), errors)
        case kind:
            one_of("ServiceAccount", "User", "Group")(kind or "", (path, "kind"), errors)


def _ordered(item: Any, path: Path, errors: list[FieldError]) -> None:
    """Minimum, default request, default and maximum of a limit, in this order."""
    for low, high in (
        ("min", "max"),
        ("min", "defaultRequest"),
        ("defaultRequest", "default"),
        ("default", "max"),
    ):
        upper = item.get(high) or {}
        for name, text in (item.get(low) or {}).items():
            if name in upper and quantity_value(text) > quantity_value(upper[name]):
                words = {
                    "defaultRequest": "default request",
                    "min": "min",
                    "max": "max",
                    "default": "default",
                }
                detail = f"{words[low]} value {text} is greater than {words[high]} value {upper[name]}"
                errors.append(invalid((path, low), text, detail))
    if item.get("type") == "Pod":
        for field in ("default", "defaultRequest"):
            if item.get(field):
                text = "may not be specified when `type` is 'Pod'"
                errors.append(forbidden((path, field), text))


def _request(value: Any, path: Path, errors: list[FieldError]) -> None:
    pem = b64decode(value)
    if (
        b"-----BEGIN CERTIFICATE REQUEST-----" not in pem
        and b"-----BEGIN NEW CERTIFICATE REQUEST-----" not in pem
    ):
        # Bytes are shown as base64.
        errors.append(invalid(path, value, "PEM block type must be CERTIFICATE REQUEST"))


def _expiration(value: Any, path: Path, errors: list[FieldError]) -> None:
    if value < 600:
        errors.append(invalid(path, value, "may not specify a duration less than 600 seconds (10 minutes)"))


def _signer(value: Any, path: Path, errors: list[FieldError]) -> None:
    domain, slash, name = value.partition("/")
    if not slash:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        errors.append(invalid(path, value, text))
        return
    DNS_SUBDOMAIN(domain, path, errors)
    if "." not in domain:
        errors.append(invalid(path, value, "should be a domain with at least two segments separated by dots"))
    if not name:
        errors.append(invalid(path, value, "validation should be a path"))


def _priority(obj: Any, path: Path, errors: list[FieldError]) -> None:
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        if name not in ("system-cluster-critical", "system-node-critical"):
            text = "priority class names with 'system-' prefix are reserved for system use only. error: "
            errors.append(
                forbidden(((None, "metadata"), "name"), f"{text}{name} is not a known system priority class")
            )
    elif value > USER_PRIORITY_MAX:
        text = f"maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}"
        errors.append(forbidden((path, "value"), text))


_TOO_PRECEDENT = "must not be greater than 10000"
_LIMITED = ("nominalConcurrencyShares", NON_NEGATIVE), ("lendablePercent", between(0, 100))

TABLE: Table = {
    "apiregistration.v1.APIService": (("", api_service),),
    "certificates.v1.CertificateSigningRequestSpec": (
        ("request", REQUIRED, _request), ("usages", REQUIRED, each(one_of(*USAGES))),
        ("signerName", REQUIRED, _signer), ("expirationSeconds", _expiration),
    ),
    "flowcontrol.v1.FlowSchemaSpec": (
        ("matchingPrecedence", at_least(1, "must be a positive value"), at_most(10000, _TOO_PRECEDENT)),
    ),
    "flowcontrol.v1.PriorityLevelConfigurationReference": (("name", require("must reference a priority level")),),
    "flowcontrol.v1.FlowDistinguisherMethod": (("type", one_of("ByNamespace", "ByUser")),),
    "flowcontrol.v1.PriorityLevelConfigurationSpec": (("type", REQUIRED, one_of("Exempt", "Limited")),),
    "flowcontrol.v1.LimitResponse": (("type", REQUIRED, one_of("Queue", "Reject")),),
    "flowcontrol.v1.LimitedPriorityLevelConfiguration": _LIMITED,
    "flowcontrol.v1.QueuingConfiguration": (
        ("queues", POSITIVE), ("handSize", POSITIVE), ("queueLengthLimit", POSITIVE),
    ),
    "node.v1.RuntimeClass": (("handler", REQUIRED, DNS_LABEL),),
    "rbac.v1.PolicyRule": (("verbs", VERBS_REQUIRED), ("", _rule)),
    "rbac.v1.Role": (("", _no_paths),),
    "rbac.v1.RoleBinding": (("", _role_kinds("Role", "ClusterRole")),),
    "rbac.v1.ClusterRoleBinding": (("", _role_kinds("ClusterRole")),),
    "rbac.v1.Subject": (("", _subject),),
    "resource.v1.DeviceRequest": (("name", REQUIRED, DNS_LABEL),),
    "resource.v1.ExactDeviceRequest": (
        ("deviceClassName", REQUIRED, DNS_SUBDOMAIN), ("allocationMode", one_of("All", "ExactCount")),
    ),
    "resource.v1.ResourceSliceSpec": (("driver", REQUIRED, DNS_SUBDOMAIN),),
    "resource.v1.ResourcePool": (
        ("name", REQUIRED), ("resourceSliceCount", at_least(1, "must be greater than zero")),
        ("generation", at_least(0, "must be greater than or equal to zero")),
    ),
    "scheduling.v1.PriorityClass": (("", _priority), ("preemptionPolicy", one_of("Never", "PreemptLowerPriority"))),
    "v1.LimitRangeItem": (
        ("type", REQUIRED), ("min", resource_list), ("max", resource_list), ("default", resource_list),
        ("defaultRequest", resource_list), ("", _ordered),
    ),
    "v1.NodeSpec": (("taints", unique("key", "effect")),),
    "v1.Taint": (("key", QUALIFIED_NAME), ("effect", REQUIRED, one_of("NoSchedule", "PreferNoSchedule", "NoExecute"))),
    "v1.ResourceQuotaSpec": (("hard", resource_list),),
    "v1.ResourceQuotaStatus": (("hard", resource_list), ("used", resource_list)),
}  # fmt: skip
