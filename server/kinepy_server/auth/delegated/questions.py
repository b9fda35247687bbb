"""May somebody do something? As a SubjectAccessReview asks it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from kinepy_server.auth.actions import Attributes
from kinepy_server.auth.user import User
from kinepy_server.read.selectors.fields import FieldSelectorError, parse_fields
from kinepy_server.read.selectors.labels import LabelSelectorError, parse_labels

CONTROLLED_BYTES_MAX: Final = 10_000
"""An answer to a longer question is not kept: whoever asks such things would fill the memory."""
Query = Mapping[str, Sequence[str]]
_SELECTING = frozenset(("list", "watch", "deletecollection"))
_LABEL_OPERATORS = {"in": "In", "notin": "NotIn", "exists": "Exists", "absent": "DoesNotExist"}
_PARTS = ("namespace", "verb", "group", "version", "resource", "subresource", "name")


def question(
    user: User, action: Attributes, *, version: str = "", query: Query | None = None
) -> dict[str, Any]:
    """The spec of a review. The selectors of a `query` tell how little a list asks for."""
    asked: dict[str, Any]
    spec: dict[str, Any] = {}
    if action.is_resource:
        values = {part: version if part == "version" else getattr(action, part) for part in _PARTS}
        asked = {part: value for part, value in values.items() if value}
        if query and action.verb in _SELECTING:
            asked |= _selectors(query)
        spec["resourceAttributes"] = asked
    else:
        asked = {"path": action.path, "verb": action.verb}
        spec["nonResourceAttributes"] = asked
    whose: dict[str, Any] = {
        "user": user.name,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
        "uid": user.uid,
    }
    return spec | {member: value for member, value in whose.items() if value}


def is_short(spec: Mapping[str, Any]) -> bool:
    """Whether the answer may be kept. What is asked for counts, not who asks."""
    asked = spec.get("resourceAttributes") or spec["nonResourceAttributes"]
    return len(orjson.dumps(asked)) < CONTROLLED_BYTES_MAX


def _selectors(query: Query) -> dict[str, Any]:
    found = {}
    fields = _field_requirements(query.get("fieldSelector", ("",))[0])
    labels = _label_requirements(query.get("labelSelector", ("",))[0])
    if fields:
        found["fieldSelector"] = {"requirements": fields}
    if labels:
        found["labelSelector"] = {"requirements": labels}
    return found


def _field_requirements(text: str) -> list[dict[str, Any]]:
    # A selector that cannot be read narrows nothing; what is wrong with it is told to who may ask at all.
    try:
        terms = parse_fields(text)
    except FieldSelectorError:
        return []
    return [
        {"key": term.label, "operator": "In" if term.equal else "NotIn", "values": [term.value]}
        for term in terms
    ]


def _label_requirements(text: str) -> list[dict[str, Any]]:
    try:
        selector = parse_labels(text)
    except LabelSelectorError:
        return []
    found = []
    for requirement in selector.requirements if selector is not None else ():
        # Comparisons of numbers have no word here; without them the question asks for more, not for less.
        operator = _LABEL_OPERATORS.get(requirement.operator)
        if operator is not None:
            entry = {"key": requirement.key, "operator": operator}
            found.append(entry | ({"values": list(requirement.values)} if requirement.values else {}))
    return found
