"""Which writes a webhook or policy is about: rules, and selectors of labels."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.read.selectors.labels import Requirement, compile_requirement
from kinepy_server.resources.resource import JsonObject

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
Labels = Mapping[str, str]
Test = Callable[[Attributes], bool]


def rule_test(rules: Sequence[Mapping[str, Any]]) -> Test:
    """Whether any of these rules is about a write."""
    tests = [_one_rule(rule) for rule in rules]
    return lambda attributes: any(test(attributes) for test in tests)


def _one_rule(rule: Mapping[str, Any]) -> Test:
    operations, groups = _choice(rule, "operations"), _choice(rule, "apiGroups")
    versions, resources = _choice(rule, "apiVersions"), frozenset(rule.get("resources") or ())
    names, scope = frozenset(rule.get("resourceNames") or ()), rule.get("scope", "*")

    def test(attributes: Attributes) -> bool:
        resource = attributes.resource
        return (
            (operations is None or attributes.operation in operations)
            and (groups is None or resource.group in groups)
            and (versions is None or resource.version in versions)
            and _names_resource(resources, resource.plural, attributes.subresource)
            and (not names or attributes.name in names)
            and (scope == "*" or (scope == "Namespaced") == _is_namespaced(attributes))
        )

    return test


def _is_namespaced(attributes: Attributes) -> bool:
    return attributes.resource.namespaced


def _choice(rule: Mapping[str, Any], member: str) -> frozenset[str] | None:
    """What a rule allows; None for everything."""
    values = frozenset(rule.get(member) or ())
    return None if "*" in values else values


def _names_resource(patterns: frozenset[str], plural: str, subresource: str) -> bool:
    if "*/*" in patterns:
        return True
    if not subresource:
        return plural in patterns or "*" in patterns
    exact, any_sub, any_resource = f"{plural}/{subresource}", f"{plural}/*", f"*/{subresource}"
    return not patterns.isdisjoint((exact, any_sub, any_resource))


def label_test(selector: Mapping[str, Any] | None) -> Callable[[Labels], bool] | None:
    """The predicate of a LabelSelector object; None for one that selects everything."""
    if not selector:
        return None
    requirements = [
        Requirement(key, "in", (value,)) for key, value in (selector.get("matchLabels") or {}).items()
    ]
    for term in selector.get("matchExpressions") or ():
        operator = _OPERATORS.get(term.get("operator", ""), "exists")
        requirements.append(Requirement(term.get("key", ""), operator, tuple(term.get("values") or ())))
    tests = [compile_requirement(requirement) for requirement in requirements]
    if not tests:
        return None
    return lambda labels: all(test(labels) for test in tests)


def labels_of(obj: JsonObject | None) -> Labels:
    """The labels of an object; none of no object."""
    return ((obj or {}).get("metadata") or {}).get("labels") or {}


class Matcher:
    """The resources and labels that a webhook or policy is about."""

    def __init__(
        self,
        rules: Sequence[Mapping[str, Any]],
        spec: Mapping[str, Any],
        *,
        excluded: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._rules, self._excluded = rule_test(rules), rule_test(excluded)
        self._object = label_test(spec.get("objectSelector"))
        self.takes_equivalents = spec.get("matchPolicy", "Equivalent") == "Equivalent"
        self.needs_namespace = label_test(spec.get("namespaceSelector"))

    def concerns(self, attributes: Attributes) -> bool:
        """Whether its rules and its selector of objects take a write."""
        if not self._rules(attributes) or self._excluded(attributes):
            return False
        if self._object is None:
            return True
        objects = [obj for obj in (attributes.new, attributes.old) if obj is not None]
        return any(self._object(labels_of(obj)) for obj in objects)

    def takes_namespace(self, attributes: Attributes, namespace: JsonObject | None) -> bool:
        """Whether its selector of namespaces takes the one of a write."""
        test = self.needs_namespace
        if test is None:
            return True
        if attributes.resource.kind == "Namespace" and not attributes.resource.group:
            return test(labels_of(attributes.new or attributes.old))
        if not attributes.resource.namespaced:
            return True
        return test(labels_of(namespace))
