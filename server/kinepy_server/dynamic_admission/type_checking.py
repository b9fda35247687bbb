"""What is wrong with the expressions of a validating policy for the types that it names. Pure.

Policies are about anything: their expressions are accepted without knowing a type. What this finds is only told.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from kinepy_server.cel.errors import CompileError
from kinepy_server.cel.openapi_types import type_of_component
from kinepy_server.cel.terms import Terms
from kinepy_server.cel.types import DYN, Type
from kinepy_server.openapi_schemas import component_schemas, full_name
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import JsonObject, Resource

TYPES_MAX = 10
"""So many types of a rule are looked at."""


class _Kind(NamedTuple):
    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


def expression_warnings(policy: JsonObject, registry: Registry) -> list[JsonObject]:
    """The warnings for the status of a policy; none where all is well, or no type is named."""
    spec = policy.get("spec") or {}
    scopes = [(kind, _Scope(spec, resource, registry)) for kind, resource in kinds_of(spec, registry).items()]
    return [
        {"fieldRef": place, "warning": warning}
        for place, text in _expressions(spec)
        if (warning := _warning(text, scopes))
    ]


def _expressions(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for index, validation in enumerate(spec.get("validations") or ()):
        for member in ("expression", "messageExpression"):
            if text := validation.get(member):
                yield f"spec.validations[{index}].{member}", text


def _warning(text: str, scopes: "Sequence[tuple[_Kind, _Scope]]") -> str:
    found = ((kind, scope.problem(text)) for kind, scope in scopes)
    return "\n".join(f"{kind}: {problem}\n" for kind, problem in found if problem)


def kinds_of(spec: Mapping[str, Any], registry: Registry) -> dict[_Kind, Resource]:
    """The kinds that the rules of a policy name, in order. A rule with a wildcard names none."""
    found: dict[_Kind, Resource] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        named = list(islice(_named(rule, registry), TYPES_MAX))
        found |= {_Kind(one.group, one.version, one.kind): one for one in named}
        if len(named) == TYPES_MAX:
            # The original looks at no further rule then.
            break
    return {kind: found[kind] for kind in sorted(found)}


def _named(rule: Mapping[str, Any], registry: Registry) -> Iterator[Resource]:
    groups, versions = sorted(rule.get("apiGroups") or ()), sorted(rule.get("apiVersions") or ())
    if any("*" in name for name in (*groups, *versions)):
        return
    plurals = sorted(name for name in rule.get("resources") or () if not {"*", "/"} & set(name))
    for group in groups:
        for version in versions:
            for plural in plurals:
                yield from _resources(registry, group, version, plural=plural)


def _resources(registry: Registry, group: str, version: str, *, plural: str) -> Iterator[Resource]:
    """The resources of a name. Where the group is empty the original takes those of all groups."""
    for name in [group] if group else [one.name for one in registry.groups()]:
        for resource in registry.resources(name, version):
            if plural.lower() in (resource.plural, resource.singular):
                yield resource


class _Scope:
    """What expressions mean where objects are of one type."""

    def __init__(self, spec: Mapping[str, Any], resource: Resource, registry: Registry) -> None:
        params = spec.get("paramKind")
        kind = _type(resource)
        types = {"object": kind, "oldObject": kind}
        if params:
            found = registry.by_kind(params.get("apiVersion", ""), params.get("kind", ""))
            types["params"] = DYN if found is None else _type(found)
        self._terms = Terms(params=bool(params), variables=True, types=types)
        for variable in spec.get("variables") or ():
            try:
                self._terms.define(variable["name"], variable["expression"])
            except CompileError:
                # The original does not tell; the variable may be anything.
                continue

    def problem(self, text: str) -> str:
        """What is wrong with an expression; empty where nothing is."""
        try:
            self._terms.compile(text)
        except CompileError as error:
            return str(error)
        return ""


def _type(resource: Resource) -> Type:
    name = full_name(resource.schema) if resource.shape is None else resource.schema
    found = type_of_component(component_schemas([resource], ()), name)
    return DYN if found is None else found
