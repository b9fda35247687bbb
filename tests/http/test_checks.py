"""What of an object is refused, and in which words."""

# ruff: noqa: E501 -- recorded texts stand on one line

import copy
from typing import Any

import pytest

from kinepy_server.resources.checks.cron import cron_problem, zone_problem
from kinepy_server.resources.checks.pods import port_name_problems
from kinepy_server.resources.checks.selectors import selects
from kinepy_server.resources.resource import JsonObject
from tests.http.types import made, minimal, resource_of

LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
PERCENT = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
FIXED = "field is immutable"
ROLLING = "spec.strategy.rollingUpdate"


def changed(key: str, place: str, value: Any) -> JsonObject:
    """The smallest object of a type with another value at a place; None takes the member away."""
    body = copy.deepcopy(minimal(key))
    inner: Any = body
    *parents, last = [int(name) if name.isdecimal() else name for name in place.split("/")]
    for name in parents:
        inner = inner.setdefault(name, {}) if isinstance(name, str) else inner[name]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return body


CONTAINER = "spec/containers/0"
WEBHOOK = {"name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
CASES: list[tuple[str, str, Any, list[str]]] = [
    ("v1/pods", "spec/containers", [], ["spec.containers: Required value"]),
    ("v1/pods", f"{CONTAINER}/name", "A", [f'spec.containers[0].name: Invalid value: "A": {LABEL}']),
    ("v1/pods", f"{CONTAINER}/imagePullPolicy", "x", ['spec.containers[0].imagePullPolicy: Unsupported value: "x": supported values: "Always", "IfNotPresent", "Never"']),
    ("v1/pods", f"{CONTAINER}/ports", [{"containerPort": 70000}], ["spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"]),
    ("v1/pods", f"{CONTAINER}/ports", [{}], ["spec.containers[0].ports[0].containerPort: Required value"]),
    ("v1/pods", f"{CONTAINER}/env", [{"value": "x"}], ["spec.containers[0].env[0].name: Required value"]),
    ("v1/pods", f"{CONTAINER}/volumeMounts", [{"name": "v", "mountPath": "/x"}], ['spec.containers[0].volumeMounts[0].name: Not found: "v"']),
    ("v1/pods", f"{CONTAINER}/livenessProbe", {}, ["spec.containers[0].livenessProbe: Required value: must specify a handler type"]),
    ("v1/pods", f"{CONTAINER}/resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, ['spec.containers[0].resources.requests[cpu]: Invalid value: "2": must be less than or equal to cpu limit of 1']),
    ("v1/pods", f"{CONTAINER}/resources", {"limits": {"cpu": "-1"}}, ['spec.containers[0].resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0', 'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
    ("v1/pods", "spec/volumes", [{"name": "v", "secret": {}}], ["spec.volumes[0].secret.secretName: Required value"]),
    ("v1/pods", "spec/volumes", [{"name": "v"}, {"name": "v"}], ['spec.volumes[1].name: Duplicate value: "v"']),
    ("v1/pods", "spec/tolerations", [{"key": "a", "operator": "x"}], ['spec.tolerations[0].operator: Unsupported value: "x": supported values: "Equal", "Exists"']),
    ("v1/podtemplates", "template/spec/restartPolicy", "x", ['template.spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"']),
    ("apps/v1/deployments", "spec/replicas", -1, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
    ("apps/v1/deployments", "spec/selector", {}, ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
    ("apps/v1/deployments", "spec/strategy", {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}, [f"{ROLLING}.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"]),
    ("apps/v1/deployments", "spec/strategy", {"rollingUpdate": {"maxSurge": "x"}}, [f'{ROLLING}.maxSurge: Invalid value: "x": {PERCENT}']),
    ("apps/v1/deployments", "spec/strategy", {"type": "Recreate", "rollingUpdate": {}}, ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"]),
    ("apps/v1/deployments", "spec/template/spec/restartPolicy", "Never", ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"']),
    ("apps/v1/replicasets", "spec/template/metadata", None, ["spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"]),
    ("apps/v1/statefulsets", "spec/podManagementPolicy", "x", ['spec.podManagementPolicy: Unsupported value: "x": supported values: "OrderedReady", "Parallel"']),
    ("apps/v1/daemonsets", "spec/updateStrategy", {"type": "x"}, ['spec.updateStrategy.type: Unsupported value: "x": supported values: "OnDelete", "RollingUpdate"']),
    ("batch/v1/jobs", "spec/parallelism", -1, ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"]),
    ("batch/v1/jobs", "spec/template/spec/restartPolicy", "Always", ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"']),
    ("batch/v1/cronjobs", "spec/schedule", "", ["spec.schedule: Required value"]),
    ("batch/v1/cronjobs", "spec/concurrencyPolicy", "x", ['spec.concurrencyPolicy: Unsupported value: "x": supported values: "Allow", "Forbid", "Replace"']),
    ("v1/services", "spec/type", "x", ['spec.type: Unsupported value: "x": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"']),
    ("v1/services", "spec/clusterIP", "x", [f'spec.clusterIP: Invalid value: "x": {IP}']),
    ("v1/services", "spec/ports", [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}], ['spec.ports[1].name: Duplicate value: "a"']),
    ("networking.k8s.io/v1/ingresses", "spec", {}, ["spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"]),
    ("networking.k8s.io/v1/ingresses", "spec", {"rules": [{"http": {"paths": [{"pathType": "Exact", "path": "x", "backend": {"service": {"name": "s", "port": {"number": 1}}}}]}}]}, ['spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path']),
    ("networking.k8s.io/v1/networkpolicies", "spec", {"podSelector": {}, "policyTypes": ["x"]}, ['spec.policyTypes[0]: Unsupported value: "x": supported values: "Egress", "Ingress"']),
    ("networking.k8s.io/v1/networkpolicies", "spec", {"podSelector": {}, "ingress": [{"from": [{}]}]}, ["spec.ingress[0].from[0]: Required value: must specify a peer"]),
    ("v1/endpoints", "subsets", [{"addresses": [{"ip": "x"}]}], [f'subsets[0].addresses[0].ip: Invalid value: "x": {IP}']),
    ("discovery.k8s.io/v1/endpointslices", "endpoints", [{"addresses": []}], ["endpoints[0].addresses: Required value: must contain at least 1 address"]),
    ("rbac.authorization.k8s.io/v1/roles", "rules", [{"apiGroups": [""], "resources": ["pods"]}], ["rules[0].verbs: Required value: verbs must contain at least one value"]),
    ("rbac.authorization.k8s.io/v1/roles", "rules", [{"verbs": ["get"]}], ["rules[0].apiGroups: Required value: resource rules must supply at least one api group", "rules[0].resources: Required value: resource rules must supply at least one resource"]),
    ("rbac.authorization.k8s.io/v1/rolebindings", "roleRef/kind", "x", ['roleRef.kind: Unsupported value: "x": supported values: "Role", "ClusterRole"']),
    ("rbac.authorization.k8s.io/v1/rolebindings", "subjects", [{"kind": "ServiceAccount", "name": "a"}], ["subjects[0].namespace: Required value"]),
    ("v1/limitranges", "spec", {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}, ['spec.limits[0].min: Invalid value: "2": min value 2 is greater than max value 1', 'spec.limits[0].min: Invalid value: "2": min value 2 is greater than default request value 1']),
    ("v1/resourcequotas", "spec", {"hard": {"pods": "-1"}}, ['spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0']),
    ("v1/persistentvolumeclaims", "spec/accessModes", [], ["spec.accessModes: Required value"]),
    ("v1/persistentvolumeclaims", "spec/resources", {}, ["spec.resources[storage]: Required value"]),
    ("v1/persistentvolumes", "spec/hostPath", None, ["spec: Required value: must specify a volume type"]),
    ("storage.k8s.io/v1/storageclasses", "provisioner", "", ["provisioner: Required value"]),
    ("autoscaling/v2/horizontalpodautoscalers", "spec/maxReplicas", 0, ["spec.maxReplicas: Invalid value: 0: must be greater than 0", "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`"]),
    ("policy/v1/poddisruptionbudgets", "spec", {"minAvailable": "x"}, [f'spec.minAvailable: Invalid value: "x": {PERCENT}']),
    ("certificates.k8s.io/v1/certificatesigningrequests", "spec/usages", ["x y"], ["spec.usages[0]: Unsupported value: \"x y\""]),
    ("certificates.k8s.io/v1/certificatesigningrequests", "spec/expirationSeconds", 5, ["spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)"]),
    ("scheduling.k8s.io/v1/priorityclasses", "value", 2000000000, ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]),
    ("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "webhooks", [{"name": "a.b.c", "clientConfig": {"url": "https://x"}, "sideEffects": "None"}], ["webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"]),
    ("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "webhooks", [{**WEBHOOK, "clientConfig": {"url": "http://u:p@?a#b"}}], ['webhooks[0].clientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme; desired format: https://host[/path]', 'webhooks[0].clientConfig.url: Invalid value: "": host must be provided; desired format: https://host[/path]', 'webhooks[0].clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL', 'webhooks[0].clientConfig.url: Invalid value: "b": fragments are not permitted in the URL', 'webhooks[0].clientConfig.url: Invalid value: "a": query parameters are not permitted in the URL']),
    ("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "webhooks", [{**WEBHOOK, "clientConfig": {"url": "https://x:y/"}}], ['webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse "https://x:y/": invalid port ":y" after host; desired format: https://host[/path]']),
    ("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "webhooks", [{**WEBHOOK, "clientConfig": {"url": "https://x\n.y/"}}], ['webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse "https://x\\n.y/": net/url: invalid control character in URL; desired format: https://host[/path]']),
    ("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "webhooks", [{**WEBHOOK, "clientConfig": {"url": "https://[::1/"}}], ['webhooks[0].clientConfig.url: Required value: url must be a valid URL: ']),
    ("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "webhooks", [{**WEBHOOK, "clientConfig": {"service": {"port": 0, "path": "x//Y"}}}], ['webhooks[0].clientConfig.service.name: Required value: service name is required', 'webhooks[0].clientConfig.service.namespace: Required value: service namespace is required', 'webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive', 'webhooks[0].clientConfig.service.path: Invalid value: "x//Y": must start with a \'/\'', 'webhooks[0].clientConfig.service.path: Invalid value: "x//Y": segment[0] may not be empty', 'webhooks[0].clientConfig.service.path: Invalid value: "x//Y": segment[1] may not be empty', 'webhooks[0].clientConfig.service.path: Invalid value: "x//Y": segment[2]: a lowercase RFC 1123 subdomain']),
    ("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "webhooks", [{**WEBHOOK, "clientConfig": {}}], ['webhooks[0].clientConfig: Required value: exactly one of url or service is required']),
    ("apiregistration.k8s.io/v1/apiservices", "spec/groupPriorityMinimum", 30000, ["spec.groupPriorityMinimum: Invalid value: 30000: must be positive and less than 20000"]),
    ("v1/nodes", "spec/taints", [{"key": "a", "effect": "x"}], ['spec.taints[0].effect: Unsupported value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"']),
]  # fmt: skip


@pytest.mark.parametrize(("key", "place", "value", "problems"), CASES)
def test_what_is_wrong_is_told(key: str, place: str, value: Any, problems: list[str]) -> None:
    obj = made(key, changed(key, place, value))
    found = [f"{error.field}: {error.text}" for error in resource_of(key).strategy.validate_create(obj)]
    assert len(found) == len(problems), found
    assert all(have.startswith(wanted) for have, wanted in zip(found, problems, strict=True)), found


IMMUTABLE: list[tuple[str, str, Any, list[str]]] = [
    ("apps/v1/statefulsets", "spec/serviceName", "other", ["spec: Forbidden: updates to statefulset spec for fields other than"]),
    ("batch/v1/jobs", "spec/completions", 5, [f"spec.completions: Invalid value: 5: {FIXED}"]),
    ("discovery.k8s.io/v1/endpointslices", "addressType", "IPv6", [f'addressType: Invalid value: "IPv6": {FIXED}']),
    ("networking.k8s.io/v1/ingressclasses", "spec/controller", "x.y/z", [f'spec.controller: Invalid value: "x.y/z": {FIXED}']),
    ("node.k8s.io/v1/runtimeclasses", "handler", "x", [f'handler: Invalid value: "x": {FIXED}']),
    ("scheduling.k8s.io/v1/priorityclasses", "value", 5, ["value: Forbidden: may not be changed in an update."]),
    ("storage.k8s.io/v1/storageclasses", "provisioner", "x.y/z", [f'provisioner: Invalid value: "x.y/z": {FIXED}']),
    ("storage.k8s.io/v1/volumeattributesclasses", "driverName", "x.y", ["driverName: Forbidden: updates to driverName are forbidden."]),
    ("v1/persistentvolumeclaims", "spec/storageClassName", "x", ["spec: Forbidden: spec is immutable after creation"]),
    ("v1/persistentvolumes", "spec/hostPath/path", "/other", ["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable"]),
    ("v1/pods", "spec/hostname", "x", ["spec: Forbidden: pod updates may not change fields other than"]),
    ("v1/pods", f"{CONTAINER}/image", "other", []),
    ("v1/pods", "spec/tolerations", [{"key": "a", "operator": "Exists"}], []),
]  # fmt: skip


@pytest.mark.parametrize(("key", "place", "value", "problems"), IMMUTABLE)
def test_what_may_not_change_is_told(key: str, place: str, value: Any, problems: list[str]) -> None:
    old, new = made(key, minimal(key)), made(key, changed(key, place, value))
    strategy = resource_of(key).strategy
    if key == "v1/pods":
        new["spec"]["tolerations"] = [*new["spec"]["tolerations"], *old["spec"]["tolerations"]]
    strategy.prepare_update(new, old, subresource="")
    found = [f"{error.field}: {error.text}" for error in strategy.validate_update(new, old, subresource="")]
    assert len(found) == len(problems), found
    assert all(have.startswith(wanted) for have, wanted in zip(found, problems, strict=True)), found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("*/5 1-3,7 * jan-mar mon", ""),
        ("@hourly", ""),
        ("@every 1h30m", ""),
        ("@never", "unrecognized descriptor: @never"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("TZ=UTC * * * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ],
)
def test_a_schedule_has_five_fields_in_their_ranges(text: str, problem: str) -> None:
    assert cron_problem(text) == problem


def test_a_time_zone_is_one_of_the_database() -> None:
    assert [bool(zone_problem(name)) for name in ("Europe/Berlin", "", "Local", "Nowhere/Land")] == [
        False,
        True,
        True,
        True,
    ]


def test_the_name_of_a_port_is_short_and_plain() -> None:
    assert [len(port_name_problems(name)) for name in ("http", "a" * 16, "1", "a--b", "-a", "A")] == [
        0,
        1,
        1,
        1,
        1,
        2,
    ]


def test_a_selector_selects_what_meets_all_its_requirements() -> None:
    labels = {"a": "b"}
    chosen = {
        "matchLabels": {"a": "b"},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["b"]},
            {"key": "x", "operator": "DoesNotExist"},
        ],
    }
    assert (selects(chosen, labels), selects({}, labels), selects(None, labels)) == (True, True, False)
    assert not selects({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, labels)
