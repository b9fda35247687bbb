"""Expressions of policies and webhooks must compile when they are stored."""

from collections.abc import Mapping
from typing import Any

from kinepy_server.resources.checks.causes import Path, invalid
from kinepy_server.resources.checks.entries import Check
from kinepy_server.resources.resource import FieldError

_VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer")


def expression(wanted: str = "") -> Check:
    """A text that compiles over the variables of policies, to a value of the wanted type."""

    def check(value: Any, path: Path, errors: list[FieldError]) -> None:
        # Most servers never see an expression, and should not wait for the language.
        from kinepy_server.cel import CompileError, compile_expression
        from kinepy_server.cel.types import DYN

        variables: Mapping[str, Any] = dict.fromkeys(_VARIABLES, DYN)
        try:
            program = compile_expression(value, variables)
        except CompileError as error:
            errors.append(invalid(path, value, f"compilation failed: {error}"))
            return
        if wanted and program.type.name != wanted:
            errors.append(invalid(path, value, f"must evaluate to {wanted}"))

    return check
