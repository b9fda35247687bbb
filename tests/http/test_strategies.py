"""Rules of single types, with the original's causes in its order."""

# ruff: noqa: E501 -- recorded texts stand on one line

from typing import Any

import pytest

from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import decode

CONFIG_KEY = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
NAME_PART = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"


def resource(plural: str, group: str = "") -> Resource:
    found = builtin_registry().lookup(group, "v1", plural)
    assert found is not None
    return found


CONFIGMAPS, SECRETS, NAMESPACES = resource("configmaps"), resource("secrets"), resource("namespaces")
LEASES, EVENTS = resource("leases", "coordination.k8s.io"), resource("events")
NEW_EVENTS = resource("events", "events.k8s.io")


def made(of: Resource, value: JsonObject) -> JsonObject:
    """An object as a create makes it."""
    obj: JsonObject = decode(of.schema, {"metadata": {"name": "a", "namespace": "ns"}, **value})[0]
    of.strategy.default(obj)
    of.strategy.prepare_create(obj)
    return obj


def create_errors(of: Resource, value: JsonObject) -> list[str]:
    return [f"{error.field}: {error.text}" for error in of.strategy.validate_create(made(of, value))]


def update_errors(of: Resource, new: JsonObject, old: JsonObject) -> list[str]:
    stored, changed = made(of, old), made(of, new)
    of.strategy.prepare_update(changed, stored, subresource="")
    return [f"{e.field}: {e.text}" for e in of.strategy.validate_update(changed, stored, subresource="")]


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        ({"data": {"k": "v"}, "binaryData": {"b": "eA=="}}, []),
        ({"data": {"bad key": "v"}}, [f'data[bad key]: Invalid value: "bad key": {CONFIG_KEY}']),
        ({"data": {"": "v"}}, [f'data[]: Invalid value: "": {CONFIG_KEY}']),
        ({"data": {"..": "v"}}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
        ({"data": {"k" * 254: "v"}}, [f'data[{"k" * 254}]: Invalid value: "{"k" * 254}": must be no more than 253 characters']),
        ({"data": {"k": "v"}, "binaryData": {"k": "eA=="}}, ['data[k]: Invalid value: "k": duplicate of key present in binaryData']),
        ({"data": {"k": "x" * 1048576}}, []),
        ({"data": {"k": "x" * 1048577}}, ["[]: Too long: may not be more than 1048576 bytes"]),
    ],
)  # fmt: skip
def test_a_configmap_has_good_keys_once_and_at_most_a_mebibyte(value: Any, errors: list[str]) -> None:
    assert create_errors(CONFIGMAPS, value) == errors


def test_an_immutable_configmap_stays_as_it_is() -> None:
    why = "Forbidden: field is immutable when `immutable` is set"
    old = {"data": {"k": "v"}, "immutable": True}
    assert update_errors(CONFIGMAPS, {"data": {"k": "w"}}, old) == [f"immutable: {why}", f"data: {why}"]
    assert update_errors(CONFIGMAPS, {**old, "metadata": {"labels": {"l": "m"}}}, old) == []


def test_the_texts_of_a_secret_become_data_and_win() -> None:
    secret = made(SECRETS, {"stringData": {"k": "v"}, "data": {"k": "b2xk", "j": "eA=="}})
    assert (secret["data"], secret["type"]) == ({"k": "dg==", "j": "eA=="}, "Opaque")
    assert "stringData" not in secret


@pytest.mark.parametrize(
    ("kind", "data", "errors"),
    [
        ("tls", {}, ["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        ("tls", {"tls.crt": "eA==", "tls.key": "eA=="}, []),
        ("basic-auth", {}, ["data[username]: Required value", "data[password]: Required value"]),
        ("basic-auth", {"username": "eA=="}, []),
        ("ssh-auth", {}, ["data[ssh-privatekey]: Required value"]),
        ("dockerconfigjson", {"x": "eA=="}, ["data[.dockerconfigjson]: Required value"]),
        ("dockerconfigjson", {".dockerconfigjson": "e30="}, []),
        ("dockerconfigjson", {".dockerconfigjson": "eA=="}, ["data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'x' looking for beginning of value"]),
        ("service-account-token", {}, ["metadata.annotations[kubernetes.io/service-account.name]: Required value"]),
    ],
)  # fmt: skip
def test_a_well_known_type_of_secret_requires_its_keys(kind: str, data: Any, errors: list[str]) -> None:
    assert create_errors(SECRETS, {"type": f"kubernetes.io/{kind}", "data": data}) == errors


def test_the_type_of_a_secret_never_changes() -> None:
    assert update_errors(SECRETS, {"type": "other"}, {}) == [
        'type: Invalid value: "other": field is immutable'
    ]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"leaseDurationSeconds": 15, "leaseTransitions": 0}, []),
        (
            {"leaseDurationSeconds": -1},
            ["spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0"],
        ),
        (
            {"leaseTransitions": -1},
            ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_a_lease_has_a_positive_duration(spec: Any, errors: list[str]) -> None:
    assert create_errors(LEASES, {"spec": spec}) == errors


def test_a_new_namespace_is_active_labelled_and_held() -> None:
    namespace = made(NAMESPACES, {"status": {"phase": "Terminating"}, "metadata": {"name": "n"}})
    assert namespace == {
        "metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


@pytest.mark.parametrize(
    ("subresource", "spec", "phase"),
    [("", "old", "Active"), ("status", "old", "Terminating"), ("finalize", "new", "Active")],
)
def test_each_endpoint_of_a_namespace_changes_its_own_part(subresource: str, spec: str, phase: str) -> None:
    old = made(NAMESPACES, {})
    new = made(NAMESPACES, {}) | {"spec": {}, "status": {"phase": "Terminating"}}
    NAMESPACES.strategy.prepare_update(new, old, subresource=subresource)
    assert new["spec"] == ({} if spec == "new" else {"finalizers": ["kubernetes"]})
    assert new["status"]["phase"] == phase


def test_the_phase_of_a_namespace_tells_whether_it_is_being_deleted() -> None:
    old, new = made(NAMESPACES, {}), made(NAMESPACES, {}) | {"status": {"phase": "Terminating"}}
    errors = NAMESPACES.strategy.validate_update(new, old, subresource="status")
    assert [error.field for error in errors] == ["status.Phase"]
    new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert not NAMESPACES.strategy.validate_update(new, old, subresource="status")


def test_a_core_event_is_in_the_namespace_that_it_is_about() -> None:
    about = {"involvedObject": {"namespace": "other"}}
    assert create_errors(EVENTS, about) == [
        'involvedObject.namespace: Invalid value: "other": does not match event.namespace'
    ]
    assert create_errors(EVENTS, {"involvedObject": {"namespace": "ns"}}) == []


def test_a_new_style_event_is_judged_strictly() -> None:
    event = {"eventTime": "2020-01-01T00:00:00.123456Z", "type": "Odd", "regarding": {"namespace": "ns"}}
    assert create_errors(NEW_EVENTS, event) == [
        "reportingController: Required value",
        'reportingController: Invalid value: "": name part must be non-empty',
        f'reportingController: Invalid value: "": {NAME_PART}',
        "reportingInstance: Required value",
        "action: Required value",
        "reason: Required value",
        'type: Invalid value: "": has invalid value: Odd',
    ]
    assert create_errors(NEW_EVENTS, {"regarding": {"namespace": "ns"}}) == [
        "eventTime: Required value",
        'type: Invalid value: "": has invalid value: ',
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"action": "y"}, "action"),
        ({"reason": "y"}, "reason"),
        ({"regarding": {"namespace": "ns", "name": "q"}}, "involvedObject"),
        ({"reportingController": "y"}, "reportingController"),
    ],
)
def test_what_a_new_style_event_tells_never_changes(change: Any, field: str) -> None:
    old = {
        "eventTime": "2020-01-01T00:00:00.123456Z", "type": "Normal", "regarding": {"namespace": "ns"},
        "action": "x", "reason": "x", "reportingController": "x", "reportingInstance": "x",
    }  # fmt: skip
    assert [error.partition(":")[0] for error in update_errors(NEW_EVENTS, {**old, **change}, old)] == [field]
    assert update_errors(NEW_EVENTS, {**old, "note": "other"}, old) == []
