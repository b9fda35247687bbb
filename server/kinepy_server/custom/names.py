"""Which names a definition gets (CRD-4, CRD-5). Pure, and the same in every process: who came first has them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kinepy_server.custom.definition import ESTABLISHED, Definition, Names
from kinepy_server.resources.strategies.keys import quoted


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The names that a definition has, and why it has not all that it asks for: empty when it has."""

    names: Names
    reason: str = ""
    message: str = ""

    @property
    def complete(self) -> bool:
        """Whether it has all its names."""
        return not self.reason


def accept_names(definitions: Iterable[Definition]) -> Mapping[bytes, Acceptance]:
    """The acceptance of every definition of one group, by key."""
    claims = _Claims()
    found = {}
    for definition in sorted(definitions, key=lambda d: (not d.is_true(ESTABLISHED), d.created)):
        acceptance = _accept(definition, claims)
        claims.add(acceptance.names)
        found[definition.key] = acceptance
    return found


class _Claims:
    """What is taken already."""

    def __init__(self) -> None:
        self.resources: set[str] = set()
        self.kinds: set[str] = set()

    def add(self, names: Names) -> None:
        self.resources.update((names.plural, names.singular, *names.short_names))
        self.kinds.update((names.kind, names.list_kind))


def _accept(definition: Definition, claims: _Claims) -> Acceptance:
    wanted, has = definition.requested, definition.accepted
    names = replace(has, categories=wanted.categories)
    reason = message = ""
    for attribute, taken, conflict in (
        ("plural", claims.resources, "PluralConflict"),
        ("singular", claims.resources, "SingularConflict"),
        ("short_names", claims.resources, "ShortNamesConflict"),
        ("kind", claims.kinds, "KindConflict"),
        ("list_kind", claims.kinds, "ListKindConflict"),
    ):
        value = getattr(wanted, attribute)
        texts = value if isinstance(value, tuple) else (value,)
        used = [text for text in texts if text and text in taken]
        if used:
            reason, message = conflict, _told(used)
        else:
            setattr(names, attribute, value)
    return Acceptance(names, reason, message)


def _told(used: list[str]) -> str:
    texts = [f"{quoted(text)} is already in use" for text in used]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
