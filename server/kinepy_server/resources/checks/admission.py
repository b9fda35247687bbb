"""Checks of webhooks and policies of admission."""

from typing import Any

from kinepy_server.resources.checks.causes import Path, duplicate, forbidden, invalid, required, unsupported
from kinepy_server.resources.checks.entries import (
    DNS_SUBDOMAIN,
    PATH_SEGMENT,
    REQUIRED,
    Check,
    Table,
    between,
    one_of,
    require,
    unique,
)
from kinepy_server.resources.checks.expressions import (
    mutating_expressions,
    validating_expressions,
    webhook_conditions,
)
from kinepy_server.resources.checks.webhook_clients import client_errors
from kinepy_server.resources.resource import FieldError

Errors = list[FieldError]
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_ACTIONS = ("Audit", "Deny", "Warn")
_ALONE = "if '*' is present, must not specify other "
_DENY_AND_WARN = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and"
    " headers serves no purpose)"
)


def _rule(rule: Any, path: Path, errors: Errors) -> None:
    """Operations, groups, versions, resources and scope of a rule."""
    _given(rule, "operations", path, words="operations", errors=errors)
    for index, operation in enumerate(rule.get("operations") or ()):
        one_of(*_OPERATIONS)(operation, ((path, "operations"), index), errors)
    _given(rule, "apiGroups", path, words="API groups", errors=errors)
    _given(rule, "apiVersions", path, words="API versions", errors=errors)
    for index, version in enumerate(rule.get("apiVersions") or ()):
        if not version:
            errors.append(required(((path, "apiVersions"), index)))
    _resources(rule.get("resources") or (), (path, "resources"), errors)
    if rule.get("scope") is not None:
        one_of(*_SCOPES)(rule["scope"], (path, "scope"), errors)


def _given(rule: Any, field: str, path: Path, *, words: str, errors: Errors) -> None:
    values = rule.get(field) or ()
    if not values:
        errors.append(required((path, field)))
    elif len(values) > 1 and "*" in values:
        errors.append(invalid((path, field), values, f"{_ALONE}{words}"))


def _resources(names: Any, path: Path, errors: Errors) -> None:
    if not names:
        errors.append(required(path))
    _covered(names, path, errors)
    if len(names) > 1 and "*/*" in names:
        errors.append(invalid(path, names, "if '*/*' is present, must not specify other resources"))
    plain = [name for name in names if name and "/" not in name]
    if "*" in plain and plain[-1] != "*":
        errors.append(invalid(path, names, f"{_ALONE}resources without subresources"))


def _covered(names: Any, path: Path, errors: Errors) -> None:
    """What a pattern before it takes already."""
    whole: set[str] = set()
    anywhere: set[str] = set()
    for index, name in enumerate(names):
        if not name:
            errors.append(required((path, index)))
        resource, slash, sub = name.partition("/")
        if not slash:
            continue
        for pattern in (f"{resource}/*" if resource in whole else "", f"*/{sub}" if sub in anywhere else ""):
            if pattern:
                text = f"if '{pattern}' is present, must not specify {name}"
                errors.append(invalid((path, index), name, text))
        whole.update((resource,) if sub == "*" else ())
        anywhere.update((sub,) if resource == "*" else ())


def _named_rule(rule: Any, path: Path, errors: Errors) -> None:
    seen = set()
    for index, name in enumerate(rule.get("resourceNames") or ()):
        where = ((path, "resourceNames"), index)
        PATH_SEGMENT(name, where, errors)
        if name in seen:
            errors.append(duplicate(where, name))
        seen.add(name)
    _rule(rule, path, errors)


def _mutable_rules(where: str) -> Check:
    """Rules below a member name no operation that has nothing to change."""

    def check(spec: Any, path: Path, errors: Errors) -> None:
        for rule in (spec.get(where) or {}).get("resourceRules") or ():
            for operation in rule.get("operations") or ():
                if operation not in _MUTABLE:
                    place = (((path, where), "resourceRules"), "operations")
                    errors.append(unsupported(place, operation, _MUTABLE))

    return check


def _has_rules(spec: Any, path: Path, errors: Errors) -> None:
    match = spec.get("matchConstraints")
    if match is not None and not match.get("resourceRules"):
        errors.append(required(((path, "matchConstraints"), "resourceRules")))


def _actions(values: Any, path: Path, errors: Errors) -> None:
    seen = set()
    for index, action in enumerate(values):
        one_of(*_ACTIONS)(action, (path, index), errors)
        if action in seen:
            errors.append(duplicate((path, index), action))
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        errors.append(invalid(path, values, _DENY_AND_WARN))


def _param_kind(kind: Any, path: Path, errors: Errors) -> None:
    api_version = kind.get("apiVersion", "")
    group, _, version = api_version.rpartition("/")
    if not api_version:
        errors.append(required((path, "apiVersion")))
    elif api_version.count("/") > 1:
        text = f"unexpected GroupVersion string: {api_version}"
        errors.append(invalid((path, "apiVersion"), api_version, text))
    elif not version:
        errors.append(invalid((path, "apiVersion"), api_version, "version must be specified"))
    else:
        DNS_SUBDOMAIN(group, (path, "apiVersion"), errors)
    if not kind.get("kind"):
        errors.append(required((path, "kind")))


def _param_ref(ref: Any, path: Path, errors: Errors) -> None:
    name, selector, action = ref.get("name"), ref.get("selector"), ref.get("parameterNotFoundAction")
    both = "name and selector are mutually exclusive"
    if name:
        PATH_SEGMENT(name, (path, "name"), errors)
        if selector is not None:
            errors.append(forbidden((path, "name"), both))
            errors.append(forbidden((path, "selector"), both))
    elif selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    if not action:
        errors.append(required((path, "parameterNotFoundAction")))
    else:
        one_of("Deny", "Allow")(action, (path, "parameterNotFoundAction"), errors)


def _client(value: Any, path: Path, errors: Errors) -> None:
    errors.extend(client_errors(value, path))


def _webhook_name(value: Any, path: Path, errors: Errors) -> None:
    DNS_SUBDOMAIN(value, path, errors)
    if value.count(".") < 2:
        errors.append(
            invalid(path, value, "should be a domain with at least three segments separated by dots")
        )


_FAILURE = ("failurePolicy", one_of("Fail", "Ignore"))
_WEBHOOK = (
    ("name", REQUIRED, _webhook_name),
    ("admissionReviewVersions", require("must specify one of v1, v1beta1")),
    ("sideEffects", require("must specify one of None, NoneOnDryRun"), one_of("None", "NoneOnDryRun")),
    _FAILURE,
    ("matchPolicy", one_of("Equivalent", "Exact")),
    ("timeoutSeconds", between(1, 30, "the timeout value must be between 1 and 30 seconds")),
    ("reinvocationPolicy", one_of("IfNeeded", "Never")),
    ("rules",),
    ("clientConfig", _client),
    ("", webhook_conditions),
)
_POLICY = (_FAILURE, ("paramKind",), ("matchConstraints", REQUIRED), ("", _has_rules))
_MUTATIONS = require("mutations must contain at least one item")
_ACTION = require("at least one validation action is required")

TABLE: Table = {
    "admissionregistration.v1.MatchResources": (("matchPolicy", one_of("Equivalent", "Exact")),),
    "admissionregistration.v1.MutatingAdmissionPolicyBindingSpec": (
        ("policyName", REQUIRED, DNS_SUBDOMAIN), ("paramRef",), ("matchResources",),
        ("", _mutable_rules("matchResources")),
    ),
    "admissionregistration.v1.MutatingAdmissionPolicySpec": (
        *_POLICY, ("", _mutable_rules("matchConstraints"), mutating_expressions), ("mutations", _MUTATIONS),
        ("reinvocationPolicy", REQUIRED, one_of("Never", "IfNeeded")),
    ),
    "admissionregistration.v1.MutatingWebhook": _WEBHOOK,
    "admissionregistration.v1.MutatingWebhookConfiguration": (("webhooks", unique("name", at="name")),),
    "admissionregistration.v1.NamedRuleWithOperations": (("", _named_rule),),
    "admissionregistration.v1.ParamKind": (("", _param_kind),),
    "admissionregistration.v1.ParamRef": (("", _param_ref),),
    "admissionregistration.v1.RuleWithOperations": (("", _rule),),
    "admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec": (
        ("policyName", REQUIRED, DNS_SUBDOMAIN), ("paramRef",), ("matchResources",),
        ("validationActions", _ACTION, _actions),
    ),
    "admissionregistration.v1.ValidatingAdmissionPolicySpec": (*_POLICY, ("", validating_expressions)),
    "admissionregistration.v1.ValidatingWebhook": tuple(e for e in _WEBHOOK if e[0] != "reinvocationPolicy"),
    "admissionregistration.v1.ValidatingWebhookConfiguration": (("webhooks", unique("name", at="name")),),
}  # fmt: skip
