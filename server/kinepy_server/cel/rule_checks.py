"""What is wrong with the rules of a schema, told when its definition is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from kinepy_server.cel.errors import CompileError
from kinepy_server.cel.estimate import estimated_cost
from kinepy_server.cel.field_paths import BadPath, resolved_path
from kinepy_server.cel.program import Program, compile_expression
from kinepy_server.cel.rule import variables_of
from kinepy_server.cel.rules import RULES
from kinepy_server.cel.schema_types import REQUEST_BYTES_MAX, Schema, type_of_schema
from kinepy_server.cel.types import BOOL, STRING, Type
from kinepy_server.errors import escape_html
from kinepy_server.resources.resource import FieldError
from kinepy_server.resources.strategies.keys import quoted

RULE_COST_MAX, DEFINITION_COST_MAX = 10_000_000, 100_000_000
_EXPENSIVE_SHOWN = 4
"""How many rules are told to have made the whole too expensive."""
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_HINT = (
    " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are"
    " declared)"
)


def rule_errors(schema: Schema, *, path: str) -> list[FieldError]:
    """The problems of all rules of the structural schema of a whole object, whose place is `path`."""
    total = _Total()
    errors = list(_check(schema, _Where(path, 1, "", root=True), total))
    if total.cost > DEFINITION_COST_MAX:
        dearest = sorted(total.rules, key=lambda rule: -rule[0])[:_EXPENSIVE_SHOWN]
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        errors += [_forbidden(rule_path, text) for _, rule_path in dearest]
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        errors.append(_forbidden(path, _too_costly(name, total.cost, DEFINITION_COST_MAX)))
    return errors


@dataclass(slots=True)
class _Total:
    """What all rules cost together."""

    cost: float = 0
    rules: list[tuple[float, str]] = field(default_factory=list)

    def add(self, cost: float, path: str) -> None:
        self.cost += cost
        self.rules.append((cost, path))


@dataclass(frozen=True, slots=True)
class _Where:
    """A place in the schema: how often it may occur in an object (None: no limit is set), and below what
    its values cannot be found again in an old object."""

    path: str
    count: float | None
    uncorrelatable: str
    root: bool = False

    def below(self, step: str, *, count: float | None = 1, uncorrelatable: str = "") -> "_Where":
        """A place below this one."""
        product = None if self.count is None or count is None else self.count * count
        path = f"{self.path}.{step}"
        return _Where(path, product, self.uncorrelatable or uncorrelatable)


def _check(schema: Schema, where: _Where, total: _Total) -> Iterator[FieldError]:
    rules = schema.get(RULES) or ()
    if rules:
        root = where.root or bool(schema.get("x-kubernetes-embedded-resource"))
        kind = type_of_schema(schema, root=root)
        for index, rule in enumerate(rules):
            place = f"{where.path}.{RULES}[{index}]"
            errors = list(_shape_errors(rule, schema, place))
            yield from errors
            if not errors and kind is not None:
                yield from _compiled_errors(rule, kind, place, where=where, total=total)
    for name, member in sorted((schema.get("properties") or {}).items()):
        yield from _check(member, where.below(f"properties[{name}]"), total)
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, Mapping):
        loose = where.path if schema.get("x-kubernetes-list-type") != "map" else ""
        below = where.below("items", count=schema.get("maxItems"), uncorrelatable=loose)
        yield from _check(items, below, total)
    if isinstance(additional, Mapping):
        yield from _check(
            additional, where.below("additionalProperties", count=schema.get("maxProperties")), total
        )


def _shape_errors(rule: Mapping[str, Any], schema: Schema, place: str) -> Iterator[FieldError]:
    text, message = rule.get("rule", ""), rule.get("message", "")
    if not text.strip():
        yield _required(f"{place}.rule", "rule is not specified")
    if message and not message.strip():
        yield _invalid(f"{place}.message", quoted(message), "message must be non-empty if specified")
    elif "\n" in message.strip():
        yield _invalid(f"{place}.message", quoted(message), "message must not contain line breaks")
    elif "\n" in text.strip() and not message.strip():
        yield _required(f"{place}.message", "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression", "")
    if expression and not expression.strip():
        yield _required(f"{place}.messageExpression", "messageExpression must be non-empty if specified")
    reason = rule.get("reason")
    if reason and reason not in _REASONS:
        supported = ", ".join(map(quoted, _REASONS))
        text = f"Unsupported value: {quoted(reason)}: supported values: {supported}"
        yield FieldError(f"{place}.reason", "FieldValueNotSupported", text)
    if rule.get("fieldPath"):
        try:
            resolved_path(schema, rule["fieldPath"])
        except BadPath as error:
            detail = f"fieldPath must be a valid path: {error}"
            yield _invalid(f"{place}.fieldPath", quoted(rule["fieldPath"]), detail)


def _compiled_errors(
    rule: Mapping[str, Any], kind: Type, place: str, *, where: _Where, total: _Total
) -> Iterator[FieldError]:
    rule_path = f"{place}.rule"
    shown, variables = _shown(rule), variables_of(kind, rule)
    program = _compiled(rule.get("rule", ""), variables, wanted=BOOL)
    if isinstance(program, str):
        text = "cel expression must evaluate to a bool" if program == _OTHER_TYPE else program
        yield _invalid(rule_path, shown, text)
        return
    if program.uses("oldSelf") and where.uncorrelatable:
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {where.uncorrelatable}"
        yield _invalid(rule_path, quoted(rule["rule"]), detail)
    if rule.get("optionalOldSelf") and not program.uses("oldSelf"):
        detail = "may not be set if oldSelf is not used in rule"
        yield _invalid(f"{place}.optionalOldSelf", "true", detail)
    yield from _cost_errors("rule", program, kind, path=rule_path, where=where, total=total)
    expression = rule.get("messageExpression", "")
    if not expression:
        return
    message_path = f"{place}.messageExpression"
    message = _compiled(expression, variables, wanted=STRING)
    if isinstance(message, str):
        text = "messageExpression must evaluate to a string" if message == _OTHER_TYPE else message
        yield _invalid(message_path, shown, text.replace("compilation", "messageExpression compilation", 1))
        return
    yield from _cost_errors("messageExpression", message, kind, path=message_path, where=where, total=total)


_OTHER_TYPE = "other type"


def _compiled(text: str, variables: Mapping[str, Type], *, wanted: Type) -> Program | str:
    try:
        program = compile_expression(text, variables)
    except CompileError as error:
        return f"compilation failed: {error}"
    fits = program.type == wanted
    return program if fits else _OTHER_TYPE


def _cost_errors(
    what: str, program: Program, kind: Type, *, path: str, where: _Where, total: _Total
) -> Iterator[FieldError]:
    cost = estimated_cost(program.checked.node, {1: kind, 2: kind})
    count = where.count
    if count is None:
        count = REQUEST_BYTES_MAX // (kind.bytes_min + 1)
    cost *= count
    if cost > RULE_COST_MAX:
        yield _forbidden(path, _too_costly(f"estimated {what} cost", cost, RULE_COST_MAX))
    total.add(cost, path)


def _too_costly(name: str, cost: float, limit: float) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown}{_HINT}"


def _shown(rule: Mapping[str, Any]) -> str:
    """The rule as the original shows it: with the names of its own struct."""
    parts = {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    return escape_html(orjson.dumps(parts)).decode()


def _invalid(path: str, shown: str, detail: str) -> FieldError:
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {shown}: {detail}")


def _required(path: str, detail: str) -> FieldError:
    return FieldError(path, "FieldValueRequired", f"Required value: {detail}")


def _forbidden(path: str, detail: str) -> FieldError:
    return FieldError(path, "FieldValueForbidden", f"Forbidden: {detail}")
