"""Which custom resources this process serves: kept in step with the definitions that are stored."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from kinepy import Event, EventType, KeyValue
from kinepy_server.context import Context
from kinepy_server.custom.conversion import WebhookConverter
from kinepy_server.custom.definition import ESTABLISHED, Definition, Names
from kinepy_server.custom.names import Acceptance, accept_names
from kinepy_server.custom.resources import group_registry, resources_of
from kinepy_server.custom.shape import Life
from kinepy_server.resources.registry import Registry
from kinepy_server.resources.resource import Resource

SETTLE_S = 30.0
"""So long after a definition has changed all processes know it."""


@dataclass(slots=True)
class _Served:
    """What is served of one definition."""

    definition: Definition
    names: Names
    life: Life
    resources: list[Resource]
    unserved: list[Resource]

    def stands_for(self, definition: Definition, names: Names) -> bool:
        """Whether what is served is what a later state of the definition asks for."""
        known = self.definition
        return (known.created, known.mark, self.names) == (definition.created, definition.mark, names)

    @property
    def stored(self) -> Resource | None:
        """The resource in whose version objects are stored."""
        found = [*self.resources, *self.unserved]
        return next((one for one in found if one.api_version == one.storage_api_version), None)


@dataclass(slots=True)
class _GroupState:
    definitions: dict[bytes, Definition] = field(default_factory=dict)
    served: dict[bytes, _Served] = field(default_factory=dict)


class Serving:
    """The definitions that this process knows, and what it serves because of them."""

    def __init__(self, context: Context) -> None:
        self._context, self._base = context, context.registry
        self._groups: dict[str, _GroupState] = {}
        self._group_of: dict[bytes, str] = {}
        self._parts: dict[str, Registry] = {}
        self.acceptances: dict[bytes, Acceptance] = {}

    def known(self, key: bytes) -> Definition | None:
        """The definition of a key as this process knows it."""
        group = self._group_of.get(key)
        return self._groups[group].definitions.get(key) if group is not None else None

    def definitions(self) -> Iterable[Definition]:
        """Every definition."""
        return [one for state in self._groups.values() for one in state.definitions.values()]

    def stored_resource(self, key: bytes) -> Resource | None:
        """How the objects of a definition are stored; None when it never was served."""
        group = self._group_of.get(key)
        served = self._groups[group].served.get(key) if group is not None else None
        return served.stored if served is not None else None

    def note(self, kvs: Iterable[KeyValue]) -> set[bytes]:
        """Learn of definitions, in any order; the keys of those whose status may have to change."""
        return self._apply([(kv.key, Definition(kv)) for kv in kvs if self._is_news(kv)])

    def apply(self, events: Iterable[Event]) -> set[bytes]:
        """Learn of changes."""
        changes: dict[bytes, Definition | None] = {}
        for event in events:
            key = event.kv.key
            if event.type is not EventType.PUT:
                known = self.known(key)
                if key in changes or (known is not None and known.revision < event.kv.mod_revision):
                    changes[key] = None
            elif self._is_news(event.kv):
                changes[key] = Definition(event.kv)
        return self._apply(list(changes.items()))

    def keep_only(self, keys: set[bytes]) -> set[bytes]:
        """Forget all definitions but these."""
        return self._apply([(key, None) for key in self._group_of.keys() - keys])

    def _is_news(self, kv: KeyValue) -> bool:
        known = self.known(kv.key)
        return known is None or known.revision < kv.mod_revision

    def _apply(self, changes: list[tuple[bytes, Definition | None]]) -> set[bytes]:
        groups = set()
        for key, definition in changes:
            group = definition.group if definition is not None else self._group_of.get(key)
            if group is None:
                continue
            groups.add(group)
            state = self._groups.setdefault(group, _GroupState())
            if definition is None:
                del state.definitions[key], self._group_of[key]
            else:
                state.definitions[key], self._group_of[key] = definition, group
        touched: set[bytes] = set()
        for group in groups:
            touched |= self._renew(group)
        if groups:
            self._context.registry = self._base.with_parts(self._parts)
        return touched

    def _renew(self, group: str) -> set[bytes]:
        state = self._groups[group]
        accepted = accept_names(state.definitions.values())
        ended = [state.served.pop(key).life for key in state.served.keys() - state.definitions.keys()]
        for key, definition in state.definitions.items():
            self.acceptances[key] = accepted[key]
            if accepted[key].complete or definition.is_true(ESTABLISHED):
                ended += self._serve(state, definition, accepted[key].names)
        self._publish(group, state)
        for key in self.acceptances.keys() - self._group_of.keys():
            del self.acceptances[key]
        # Who comes back at once must find the new resources.
        for life in ended:
            life.ending.end()
        return set(state.definitions)

    def _serve(self, state: _GroupState, definition: Definition, names: Names) -> list[Life]:
        """Serve a definition; the life that has ended thereby, if one has."""
        before = state.served.get(definition.key)
        if before is not None and before.stands_for(definition, names):
            before.definition, before.life.deleting = definition, definition.deleting
            return []
        life = self._new_life(definition)
        webhook = definition.webhook if definition.converts else None
        context = self._context
        converter = None if webhook is None else WebhookConverter(webhook, context.extensions, context.clock)
        resources, unserved = resources_of(definition, names, life, converter=converter)
        state.served[definition.key] = _Served(definition, names, life, resources, unserved)
        return [before.life] if before is not None else []

    def _new_life(self, definition: Definition) -> Life:
        life = Life(deleting=definition.deleting)
        if definition.one_schema and not definition.converts:
            if definition.generation == 1:
                life.settled_since = 0
            else:
                asyncio.get_running_loop().call_later(SETTLE_S, self._settle, life)
        return life

    def _settle(self, life: Life) -> None:
        life.settled_since = int(self._context.store.applied_revision) + 1

    def _publish(self, group: str, state: _GroupState) -> None:
        resources = [one for served in state.served.values() for one in served.resources]
        unserved = [one for served in state.served.values() for one in served.unserved]
        if resources or unserved:
            self._parts[group] = group_registry(group, resources, unserved=unserved)
        else:
            self._parts.pop(group, None)
        if not state.definitions:
            self._groups.pop(group, None)
