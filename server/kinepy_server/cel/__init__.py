"""CEL, the expression language of validation rules and admission policies, with Kubernetes' libraries.

`compile_rules(schema)` compiles the rules of a custom resource's structural schema; `Rules.validate(new, old)`
runs them. `check_rules(schema)` tells what is wrong with them when the definition is written.
`compile_expression(text, variables)` compiles one expression over named variables.

Most servers never see an expression: the language is loaded when the first name of it is asked for.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import orjson

from kinepy_server.resources.resource import FieldError

if TYPE_CHECKING:
    from kinepy_server.cel.errors import CompileError, CostExceeded, EvaluationError
    from kinepy_server.cel.program import Program, compile_expression
    from kinepy_server.cel.rules import Rules

_HOMES = {
    "CompileError": "errors",
    "CostExceeded": "errors",
    "EvaluationError": "errors",
    "Program": "program",
    "Rules": "rules",
    "compile_expression": "program",
}

__all__ = [
    "CompileError",
    "CostExceeded",
    "EvaluationError",
    "Program",
    "Rules",
    "check_rules",
    "compile_expression",
    "compile_rules",
    "value_errors",
]


def compile_rules(schema: Mapping[str, Any]) -> "Rules":
    """Compile the rules of the structural schema of a whole object."""
    from kinepy_server.cel.long_texts import characters_of_rules, read_patiently
    from kinepy_server.cel.rules import compiled_rules

    return read_patiently(
        characters_of_rules(schema), lambda: ("rules", id(schema)), lambda: compiled_rules(schema)
    )


def check_rules(
    schema: Mapping[str, Any], *, path: str = "spec.validation.openAPIV3Schema"
) -> list[FieldError]:
    """The problems of all rules of the structural schema of a whole object, whose place is `path`."""
    if not _has_rules(schema):
        return []
    from kinepy_server.cel.long_texts import characters_of_rules, read_patiently
    from kinepy_server.cel.rule_checks import rule_errors

    return read_patiently(
        characters_of_rules(schema),
        lambda: (path, orjson.dumps(schema)),
        lambda: rule_errors(schema, path=path),
    )


def value_errors(schema: Mapping[str, Any], value: Any) -> list[FieldError]:
    """What the rules of a part of a structural schema say of a value there, such as its default. Fields are named
    from that part on; `<nil>` is the part itself."""
    if not _has_rules(schema):
        return []
    from kinepy_server.cel.rules import part_rules

    return part_rules(schema).validate(value)


def _has_rules(schema: Mapping[str, Any]) -> bool:
    if schema.get("x-kubernetes-validations"):
        return True
    below = (schema.get("items"), schema.get("additionalProperties"))
    parts = [*(schema.get("properties") or {}).values(), *below]
    return any(isinstance(part, Mapping) and _has_rules(part) for part in parts)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{home}"), name)
