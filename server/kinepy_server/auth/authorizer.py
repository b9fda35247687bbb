"""What an authorizer is asked and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kinepy_server.auth.actions import Attributes
from kinepy_server.auth.rbac.rules import FULL_AUTHORITY, Rule
from kinepy_server.auth.user import User

RBAC, ALWAYS_ALLOW = "RBAC", "AlwaysAllow"
MODES = (RBAC, ALWAYS_ALLOW)


@dataclass(frozen=True, slots=True)
class Decision:
    """An authorizer's answer, and why."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """The rules that a user has in a namespace; `problem` says what could not be found out."""

    rules: Sequence[Rule]
    problem: str = ""


class Authorizer(Protocol):
    """Decides, from memory, what users may do."""

    def allows(self, user: User, action: Attributes) -> bool:
        """Whether the user may. Asked for every request."""
        ...

    def explain(self, user: User, action: Attributes) -> Decision:
        """The same, with the reason."""
        ...

    def held(self, user: User, namespace: str) -> Held:
        """All that the user may in a namespace and in the whole cluster."""
        ...

    def referred(self, kind: str, name: str, namespace: str) -> Held:
        """The rules of a role that a binding in a namespace refers to."""
        ...

    def problem(self) -> str:
        """What keeps it from knowing the newest rights; empty when nothing does."""
        ...


class AlwaysAllow:
    """Everybody may do everything."""

    def allows(self, user: User, action: Attributes) -> bool:
        """Yes."""
        return True

    def explain(self, user: User, action: Attributes) -> Decision:
        """Yes."""
        return Decision(True)

    def held(self, user: User, namespace: str) -> Held:
        """Everything."""
        return Held(FULL_AUTHORITY)

    def referred(self, kind: str, name: str, namespace: str) -> Held:
        """No role adds anything."""
        return Held(())

    def problem(self) -> str:
        """None."""
        return ""
