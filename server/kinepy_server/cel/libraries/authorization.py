"""Asking what the user of a request may: `authorizer.group('').resource('pods').check('get').allowed()`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from kinepy_server.cel.signatures import Cost, table
from kinepy_server.cel.values import NAMES

_PACKAGE = "kubernetes.authorization"
CHECK_COST = 350_000
"""What a question costs, in the original a call of another server."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as far as it has been said; `account` is a service account's namespace and name."""

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    account: tuple[str, str] | None = None


Ask: TypeAlias = Callable[[Question], tuple[bool, str]]
"""Whether it is allowed, and why."""


@dataclass(frozen=True, slots=True)
class Authorizer:
    """Where questions begin."""

    ask: Ask
    question: Question = Question()
    request: Question | None = None
    """What `requestResource` asks about: the resource of the request."""

    def __getitem__(self, name: str) -> "ResourceCheck":
        if name != "requestResource" or self.request is None:
            raise KeyError(name)
        return ResourceCheck(self.ask, self.request)


@dataclass(frozen=True, slots=True)
class PathCheck:
    """A question about a path."""

    ask: Ask
    question: Question


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """A question of which only the group is known."""

    ask: Ask
    question: Question


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """A question about a resource."""

    ask: Ask
    question: Question


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question."""

    allowed: bool
    reason: str


NAMES.update(
    {
        Authorizer: f"{_PACKAGE}.Authorizer",
        PathCheck: f"{_PACKAGE}.PathCheck",
        GroupCheck: f"{_PACKAGE}.GroupCheck",
        ResourceCheck: f"{_PACKAGE}.ResourceCheck",
        Answer: f"{_PACKAGE}.Decision",
    }
)


def _said(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def say(check: ResourceCheck, value: str) -> ResourceCheck:
        said: dict[str, Any] = {field: value}
        return ResourceCheck(check.ask, replace(check.question, **said))

    return say


def _path(authorizer: Authorizer, path: str) -> PathCheck:
    return PathCheck(authorizer.ask, replace(authorizer.question, path=path))


def _group(authorizer: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(authorizer.ask, replace(authorizer.question, group=group))


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    return ResourceCheck(check.ask, replace(check.question, resource=resource))


def _account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    return replace(authorizer, question=replace(authorizer.question, account=(namespace, name)))


def _check(check: Any, verb: str) -> Answer:
    return Answer(*check.ask(replace(check.question, verb=verb)))


_costs: Cost = lambda sizes: CHECK_COST  # noqa: E731

FUNCTIONS = [
    *table(
        {
            "authorizer.path(string) -> pathcheck": _path,
            "authorizer.group(string) -> groupcheck": _group,
            "authorizer.serviceAccount(string, string) -> authorizer": _account,
            "groupcheck.resource(string) -> resourcecheck": _resource,
            "resourcecheck.subresource(string) -> resourcecheck": _said("subresource"),
            "resourcecheck.namespace(string) -> resourcecheck": _said("namespace"),
            "resourcecheck.name(string) -> resourcecheck": _said("name"),
            "pathcheck.check(string) -> answer": (_check, _costs),
            "resourcecheck.check(string) -> answer": (_check, _costs),
            "answer.allowed() -> bool": lambda answer: answer.allowed,
            "answer.reason() -> string": lambda answer: answer.reason,
            "answer.errored() -> bool": lambda answer: False,
            "answer.error() -> string": lambda answer: "",
        }
    )
]
