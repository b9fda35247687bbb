"""What the expressions of policies and match conditions may name."""

from collections.abc import Callable, Mapping
from typing import Any

from kinepy_server.auth.actions import Action
from kinepy_server.auth.user import SERVICE_ACCOUNT_PREFIX, authenticated, service_account_groups
from kinepy_server.cel import Program, compile_expression
from kinepy_server.cel.libraries.authorization import Authorizer, Question
from kinepy_server.cel.types import DYN, Type
from kinepy_server.context import Context
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.resources.resource import JsonObject

POLICY_VARIABLES: Mapping[str, Type] = dict.fromkeys(
    ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer"), DYN
)
CONDITION_VARIABLES: Mapping[str, Type] = dict.fromkeys(("object", "oldObject", "request", "authorizer"), DYN)


class Variables(dict[str, Any]):
    """The named expressions of a policy, each evaluated when it is first asked for."""

    def __init__(self, evaluators: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__()
        self._evaluators = evaluators

    def __missing__(self, name: str) -> Any:
        value = self._evaluators[name]()
        self[name] = value
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._evaluators


def compiled_for_policy(text: str) -> Program:
    """An expression of a policy. Raises CompileError."""
    return compile_expression(text, POLICY_VARIABLES)


def compiled_condition(text: str) -> Program:
    """A match condition of a webhook. Raises CompileError."""
    return compile_expression(text, CONDITION_VARIABLES)


def authorizer_of(context: Context, attributes: Attributes) -> Authorizer:
    """What answers questions about the rights of a write's user."""

    def ask(question: Question) -> tuple[bool, str]:
        user = attributes.user
        if question.account is not None:
            namespace, name = question.account
            user = authenticated(
                f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}", tuple(service_account_groups(namespace))
            )
        action = Action(
            question.verb,
            question.group,
            question.resource,
            question.subresource,
            question.namespace,
            question.name,
            question.path,
            is_resource=not question.path,
        )
        decision = context.identity.authorizer.explain(user, action)
        return decision.allowed, decision.reason

    return Authorizer(ask)


def values_of(attributes: Attributes, *, namespace: JsonObject | None, context: Context) -> dict[str, Any]:
    """The values of all variables but a policy's own."""
    return {
        "object": attributes.new,
        "oldObject": attributes.old,
        "request": attributes.request(),
        "namespaceObject": namespace,
        "authorizer": authorizer_of(context, attributes),
    }
