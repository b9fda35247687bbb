"""Roles that gather the rules of other roles by their labels. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kinepy_server.read.selectors.labels import Requirement, compile_requirement

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}


def gathered_rules(role: Mapping[str, Any], roles: Iterable[Mapping[str, Any]]) -> list[Any] | None:
    """The rules that a role is to have, from roles in the order of their names; None for one that gathers none."""
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
    if not selectors:
        return None
    others = [one for one in roles if one["metadata"]["name"] != role["metadata"]["name"]]
    rules: list[Any] = []
    for selector in selectors:
        selects = _predicate(selector)
        for one in others:
            if selects(one["metadata"].get("labels") or {}):
                rules.extend(rule for rule in one.get("rules") or () if rule not in rules)
    return rules


def _predicate(selector: Mapping[str, Any]) -> Callable[[Mapping[str, str]], bool]:
    wanted = [Requirement(key, "in", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for entry in selector.get("matchExpressions") or ():
        operator = _OPERATORS.get(entry.get("operator", ""))
        if operator is None:
            # Roles are checked when they are written; one that is wrong all the same selects nothing.
            return lambda labels: False
        wanted.append(Requirement(entry["key"], operator, tuple(entry.get("values") or ())))
    predicates = [compile_requirement(one) for one in wanted]
    return lambda labels: all(predicate(labels) for predicate in predicates)
