"""One validation rule: compiled, and what its failure is called."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from kinepy_server.cel.errors import CompileError, CostExceeded, EvaluationError
from kinepy_server.cel.field_paths import BadPath, resolved_path
from kinepy_server.cel.off_loop import Unfinished
from kinepy_server.cel.program import CALL_COST_MAX, Program, compile_expression
from kinepy_server.cel.types import Type, optional_of
from kinepy_server.cel.values import NONE, Optional
from kinepy_server.resources.resource import FieldError
from kinepy_server.resources.strategies.keys import quoted

ABSENT: Any = object()
"""Stands for an old value that there is not."""
MESSAGE_BYTES_MAX = 5 * 1024
INVALID = "FieldValueInvalid"


@dataclass(slots=True)
class Rule:
    """A compiled rule of a place in a schema; `kind` is the schema's type, which some messages show."""

    text: str
    message: str
    reason: str
    path: str
    kind: str
    program: Program
    message_program: Program | None
    optional_old: bool

    @property
    def name(self) -> str:
        """How the errors of its evaluation call it."""
        return self.message or self.text

    @property
    def is_transition(self) -> bool:
        """Whether it compares with the old value."""
        return self.program.uses("oldSelf")

    def applies(self, old: Any) -> bool:
        """Whether there is what it needs."""
        return old is not ABSENT or self.optional_old or not self.is_transition

    def values(self, value: Any, old: Any) -> dict[str, Any]:
        """Its variables."""
        if self.optional_old:
            old = NONE if old is ABSENT else Optional(old)
        return {"self": value, "oldSelf": old}

    def message_of(self, values: Mapping[str, Any], *, budget: float) -> str:
        """What a failure says. Raises Unfinished if saying it costs more than others should wait for."""
        if self.message_program is not None:
            try:
                text, _ = self.message_program.evaluate(values, budget=budget)
            except CostExceeded:
                if budget < CALL_COST_MAX:
                    raise Unfinished from None
                text = ""
            except EvaluationError:
                text = ""
            text = text.strip() if isinstance(text, str) else ""
            if text and "\n" not in text and len(text.encode()) <= MESSAGE_BYTES_MAX:
                return text
        return self.message or f"failed rule: {self.text}"


def variables_of(kind: Type, rule: Mapping[str, Any]) -> dict[str, Type]:
    """What a rule may name."""
    return {"self": kind, "oldSelf": optional_of(kind) if rule.get("optionalOldSelf") else kind}


def compiled_rule(rule: Mapping[str, Any], schema: Mapping[str, Any], kind: Type) -> Rule:
    """Compile a rule of a schema. Raises CompileError, and BadPath for its fieldPath."""
    variables = variables_of(kind, rule)
    text = rule.get("rule", "")
    path = resolved_path(schema, rule["fieldPath"]) if rule.get("fieldPath") else ""
    message_expression = rule.get("messageExpression", "")
    return Rule(
        text=text.strip(),
        message=rule.get("message", "").strip(),
        reason=rule.get("reason") or INVALID,
        path=path,
        kind=schema.get("type", ""),
        program=compile_expression(text, variables),
        message_program=compile_expression(message_expression, variables) if message_expression else None,
        optional_old=bool(rule.get("optionalOldSelf")),
    )


def usable_rule(rule: Mapping[str, Any], schema: Mapping[str, Any], kind: Type) -> Rule | str:
    """The compiled rule, or why it does not compile: a schema stored before may have such."""
    try:
        return compiled_rule(rule, schema, kind)
    except (CompileError, BadPath) as error:
        return f"rule compile error: {error}"


def failure(rule: Rule, *, path: str, value: Any, detail: str) -> FieldError:
    """The error of a rule that does not hold."""
    return _REASONS.get(rule.reason, _invalid)(_place(path + rule.path), detail, shown_value(value))


def evaluation_failure(rule: Rule, error: Exception, *, path: str) -> FieldError:
    """The error of a rule that cannot be evaluated."""
    text = str(error)
    if isinstance(error, CostExceeded):
        detail = (
            f"'{text}': no further validation rules will be run due to call cost exceeds limit for rule:"
            f" {rule.name}"
        )
        return _invalid(_place(path), detail, f'"{rule.kind}"')
    if text.startswith("no such overload"):
        detail = (
            f"'{text}': call arguments did not match a supported operator, function or macro signature for rule:"
            f" {rule.name}"
        )
    else:
        detail = f"{text} evaluating rule: {rule.name}"
    return _invalid(_place(path), detail, f'"{rule.kind}"')


def budget_failure(path: str, kind: str) -> FieldError:
    """The error when all rules together have used up what they may."""
    detail = "validation failed due to running out of cost budget, no further validation rules will be run"
    return _invalid(_place(path), detail, f'"{kind}"')


def compile_failure(path: str, kind: str, detail: str) -> FieldError:
    """The error of an object whose schema has a rule that does not compile."""
    return _invalid(_place(path), detail, f'"{kind}"')


def shown_value(value: Any) -> str:
    """A value in a message; objects and lists are not shown."""
    if isinstance(value, (dict, list)):
        return ""
    return quoted(value) if isinstance(value, str) else orjson.dumps(value).decode()


def _place(path: str) -> str:
    return path.removeprefix(".") or "<nil>"


def _invalid(path: str, detail: str, shown: str) -> FieldError:
    text = f"Invalid value: {shown}: {detail}" if shown else f"Invalid value: {detail}"
    return FieldError(path, INVALID, text)


def _forbidden(path: str, detail: str, _: str) -> FieldError:
    return FieldError(path, "FieldValueForbidden", f"Forbidden: {detail}")


def _required(path: str, detail: str, _: str) -> FieldError:
    return FieldError(path, "FieldValueRequired", f"Required value: {detail}")


def _duplicate(path: str, _: str, shown: str) -> FieldError:
    return FieldError(
        path, "FieldValueDuplicate", f"Duplicate value: {shown}" if shown else "Duplicate value"
    )


_REASONS: Mapping[str, Callable[[str, str, str], FieldError]] = {
    "FieldValueForbidden": _forbidden,
    "FieldValueRequired": _required,
    "FieldValueDuplicate": _duplicate,
}
