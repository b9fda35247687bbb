"""CEL, the expression language of validation rules and admission policies, with Kubernetes' libraries.

`compile_rules(schema)` compiles the rules of a custom resource's structural schema; `Rules.validate(new, old)`
runs them. `check_rules(schema)` tells what is wrong with them when the definition is written.
`compile_expression(text, variables)` compiles one expression over named variables.
"""

from kinepy_server.cel.errors import CompileError, CostExceeded, EvaluationError
from kinepy_server.cel.program import Program, compile_expression
from kinepy_server.cel.rule_checks import check_rules
from kinepy_server.cel.rules import Rules, compile_rules

__all__ = [
    "CompileError",
    "CostExceeded",
    "EvaluationError",
    "Program",
    "Rules",
    "check_rules",
    "compile_expression",
    "compile_rules",
]
