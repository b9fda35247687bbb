"""Policy rules: what one allows, and what one covers of another. Pure (AUTH-4)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kinepy_server.auth.actions import Attributes
from kinepy_server.schema.go_text import go_syntax

ALL = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a role, as it was written."""

    verbs: Sequence[str] = ()
    groups: Sequence[str] = ()
    resources: Sequence[str] = ()
    names: Sequence[str] = ()
    urls: Sequence[str] = ()

    def is_about(self, action: Attributes) -> bool:
        """Whether the rule is about a resource request. Which names it allows is another question."""
        return (
            (action.verb in self.verbs or ALL in self.verbs)
            and (action.group in self.groups or ALL in self.groups)
            and self._has_resource(action.resource, action.subresource)
        )

    def _has_resource(self, resource: str, subresource: str) -> bool:
        resources = self.resources
        if ALL in resources:
            return True
        if not subresource:
            return resource in resources
        return f"{resource}/{subresource}" in resources or f"*/{subresource}" in resources

    def allows_path(self, action: Attributes) -> bool:
        """Whether the rule allows a request for a path that is no resource."""
        return (action.verb in self.verbs or ALL in self.verbs) and any(
            url_covers(url, action.path) for url in self.urls
        )

    def covers(self, small: "Rule") -> bool:
        """Whether the rule allows all that a rule of one verb, one resource, one name or URL allows."""
        return (
            _has_all(self.verbs, small.verbs)
            and _has_all(self.groups, small.groups)
            and all(_covers_resource(self.resources, resource) for resource in small.resources)
            and all(any(url_covers(own, url) for own in self.urls) for url in small.urls)
            and (not self.names or (bool(small.names) and set(small.names) <= set(self.names)))
        )


FULL_AUTHORITY = (Rule((ALL,), (ALL,), (ALL,)), Rule((ALL,), urls=(ALL,)))
"""All there is."""


def read_rules(value: object) -> tuple[Rule, ...]:
    """The rules of a role's JSON value."""
    if not isinstance(value, list):
        return ()
    return tuple(
        Rule(
            tuple(entry.get("verbs") or ()),
            tuple(entry.get("apiGroups") or ()),
            tuple(entry.get("resources") or ()),
            tuple(entry.get("resourceNames") or ()),
            tuple(entry.get("nonResourceURLs") or ()),
        )
        for entry in value
    )


def rule_object(rule: Rule) -> dict[str, Any]:
    """A rule as a JSON value; empty parts are absent."""
    parts: Mapping[str, Sequence[str]] = {
        "verbs": rule.verbs,
        "apiGroups": rule.groups,
        "resources": rule.resources,
        "resourceNames": rule.names,
        "nonResourceURLs": rule.urls,
    }
    return {name: list(value) for name, value in parts.items() if value}


def url_covers(own: str, path: str) -> bool:
    """Whether a URL pattern covers a path, or all that another pattern covers."""
    return own in (ALL, path) or (own.endswith(ALL) and path.startswith(own.rstrip(ALL)))


def uncovered(held: Iterable[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """What of the wanted rules is not held, in rules of one verb and one resource or URL."""
    owned = tuple(held)
    return [
        small for rule in wanted for small in _pieces(rule) if not any(own.covers(small) for own in owned)
    ]


def _pieces(rule: Rule) -> Iterator[Rule]:
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                if rule.names:
                    for name in rule.names:
                        yield Rule((verb,), (group,), (resource,), (name,))
                else:
                    yield Rule((verb,), (group,), (resource,))
    for url in rule.urls:
        for verb in rule.verbs:
            yield Rule((verb,), urls=(url,))


def _has_all(held: Sequence[str], wanted: Sequence[str]) -> bool:
    return ALL in held or set(wanted) <= set(held)


def _covers_resource(held: Sequence[str], resource: str) -> bool:
    if ALL in held or resource in held:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in held


@dataclass(slots=True)
class _Gathered:
    """The verbs of rules that are otherwise the same."""

    rule: Rule
    verbs: list[str] = field(default_factory=list)


def described(rules: Iterable[Rule]) -> list[str]:
    """Rules as a refusal lists them: verbs of the same resource together, sorted as text."""
    gathered: dict[tuple[object, ...], _Gathered] = {}
    for rule in rules:
        # Rules about URLs stay apart from each other.
        key = (rule.groups, rule.resources, rule.names, rule.urls, rule.verbs if rule.urls else ())
        gathered.setdefault(key, _Gathered(rule)).verbs.extend(rule.verbs)
    return sorted({_text(entry) for entry in gathered.values()})


def _text(entry: _Gathered) -> str:
    rule = entry.rule
    parts = (
        ("APIGroups", rule.groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.urls),
        ("ResourceNames", rule.names),
        ("Verbs", entry.verbs),
    )
    return "{" + ", ".join(f"{name}:{quoted_list(values)}" for name, values in parts if values) + "}"


def quoted_list(texts: Iterable[str]) -> str:
    """Texts as the original prints lists of them: `["a" "b"]`."""
    return "[" + " ".join(go_syntax(text) for text in texts) + "]"
