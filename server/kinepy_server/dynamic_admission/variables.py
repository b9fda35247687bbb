"""What the expressions of policies and match conditions are about: the values of their variables."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from kinepy_server.auth.actions import Action
from kinepy_server.auth.user import SERVICE_ACCOUNT_PREFIX, User, authenticated, service_account_groups
from kinepy_server.cel.libraries.authorization import Authorizer, Question
from kinepy_server.context import Context
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.resources.resource import JsonObject

Result = TypeVar("Result")
_ANSWER_S = 30


def authorizer_of(context: Context, attributes: Attributes) -> Authorizer:
    """What answers questions about the rights of a write's user."""
    here, loop = threading.get_ident(), asyncio.get_running_loop()

    def answer(question: Question) -> tuple[bool, str]:
        decision = context.identity.authorizer.explain(*_asked(attributes.user, question))
        return decision.allowed, decision.reason

    def ask(question: Question) -> tuple[bool, str]:
        # What is known of rights changes under the loop's hands only.
        if threading.get_ident() == here:
            return answer(question)
        return _on_loop(loop, lambda: answer(question))

    return Authorizer(ask, request=_own_resource(attributes))


def _own_resource(attributes: Attributes) -> Question:
    resource = attributes.resource
    return Question(
        group=resource.group,
        resource=resource.plural,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )


def _asked(user: User, question: Question) -> tuple[User, Action]:
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
    return user, action


def _on_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], Result]) -> Result:
    """What a call returns that is made where the loop runs."""
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except Exception as error:
            done.set_exception(error)

    loop.call_soon_threadsafe(run)
    # A loop that has ended meanwhile never answers.
    return done.result(timeout=_ANSWER_S)


def values_of(attributes: Attributes, *, namespace: JsonObject | None, context: Context) -> dict[str, Any]:
    """The values of all variables but a policy's own."""
    return {
        "object": attributes.new,
        "oldObject": attributes.old,
        "request": attributes.request(),
        "namespaceObject": namespace,
        "authorizer": authorizer_of(context, attributes),
    }
