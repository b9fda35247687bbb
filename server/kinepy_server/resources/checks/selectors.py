"""Label selectors inside objects, and whether they select the labels of a template."""

from typing import Any

from kinepy_server.read.selectors.label_syntax import value_problems
from kinepy_server.resources.checks.causes import Path, forbidden, invalid, required
from kinepy_server.resources.checks.entries import Table, labels
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.qualified import qualified_name_problems


def _requirement(value: Any, path: Path, errors: list[FieldError]) -> None:
    operator, values = value.get("operator", ""), value.get("values") or ()
    match operator:
        case "In" | "NotIn":
            if not values:
                errors.append(
                    required((path, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
                )
        case "Exists" | "DoesNotExist":
            if values:
                text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                errors.append(forbidden((path, "values"), text))
        case _:
            errors.append(invalid((path, "operator"), operator, "not a valid selector operator"))
    key = value.get("key", "")
    errors.extend(invalid((path, "key"), key, problem) for problem in qualified_name_problems(key))
    for index, text in enumerate(values):
        where = ((path, "values"), index)
        errors.extend(invalid(where, text, problem) for problem in value_problems(text))


TABLE: Table = {
    "meta.v1.LabelSelector": (("matchLabels", labels),),
    "meta.v1.LabelSelectorRequirement": (("", _requirement),),
}


def selects(selector: JsonObject | None, found: JsonObject) -> bool:
    """Whether a selector selects labels; none selects nothing, an empty one everything."""
    if selector is None:
        return False
    if any(found.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_holds(one, found) for one in selector.get("matchExpressions") or ())


def _holds(requirement: JsonObject, found: JsonObject) -> bool:
    key, values = requirement.get("key", ""), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return found.get(key) in values
        case "NotIn":
            return key not in found or found[key] not in values
        case "Exists":
            return key in found
        case _:
            return key not in found


def template_matches(kind: str) -> Any:
    """The check of a spec that its selector is not empty and selects the labels of its template."""

    def check(spec: Any, path: Path, errors: list[FieldError]) -> None:
        selector = spec.get("selector")
        if selector is not None and not (selector.get("matchLabels") or selector.get("matchExpressions")):
            errors.append(invalid((path, "selector"), selector, f"empty selector is invalid for {kind}"))
            return
        found = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
        if not selects(selector, found or {}):
            where = (((path, "template"), "metadata"), "labels")
            errors.append(invalid(where, found, "`selector` does not match template `labels`"))

    return check
