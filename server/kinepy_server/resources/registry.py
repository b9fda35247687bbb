"""The resources that a server knows, found by group, version and plural."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self

from kinepy_server.resources.resource import Resource


@dataclass(frozen=True, slots=True)
class Group:
    """An API group with its versions in served order. The core group's name is empty."""

    name: str
    versions: Sequence[str]
    preferred: str


class Registry:
    """An immutable set of resources. A change of what is served is another registry.

    Groups of custom resources are registries of their own, the parts, so that a change makes one of them anew
    and leaves the others, and what was computed of them, as they are.
    """

    def __init__(
        self,
        resources: Iterable[Resource],
        groups: Sequence[Group],
        *,
        kinds: Mapping[str, Iterable[str]],
        unserved: Iterable[Resource] = (),
    ) -> None:
        """`kinds` names every kind of each apiVersion that the original knows, served here or not. `unserved` are
        stored, but not served."""
        self._parts: Mapping[str, Registry] = {}
        self._shown: Registry | None = None
        self._base: Registry = self
        self._unserved = tuple(unserved)
        self._by_path = {(r.group, r.version, r.plural): r for r in resources}
        self._groups = {group.name: group for group in groups}
        self._kinds = {version: frozenset(names) for version, names in kinds.items()}
        self._by_kind = {(r.api_version, r.kind): r for r in self._by_path.values()}
        self._listed: dict[tuple[str, str], list[Resource]] = {}
        for resource in sorted(self._by_path.values(), key=lambda r: r.plural):
            self._listed.setdefault((resource.group, resource.version), []).append(resource)

    def with_parts(self, parts: Mapping[str, "Registry"]) -> Self:
        """The same with these parts instead of its own, by group. Groups that it serves itself are not replaced."""
        whole = copy(self)
        whole._parts = {name: parts[name] for name in sorted(parts) if name not in self._groups}
        whole._shown = self._shown.with_parts(whole._parts) if self._shown is not None else None
        return whole

    def showing_parts(self) -> Self:
        """The same for the server itself; clients are shown its parts only."""
        whole = copy(self)
        whole._shown = Registry((), (), kinds={})
        return whole

    @property
    def shown(self) -> "Registry":
        """What clients see of it: nearly always all."""
        return self if self._shown is None else self._shown

    def owner(self, group: str) -> "Registry":
        """The part that serves a group, or the registry without parts: what is computed of it lasts as long as it."""
        return self._parts.get(group, self._base)

    def part(self, group: str) -> "Registry | None":
        """The part that serves a group; None for a group of the registry itself."""
        return self._parts.get(group)

    def lookup(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource of a path, or None."""
        found = self._by_path.get((group, version, plural))
        if found is None and (part := self._parts.get(group)) is not None:
            return part.lookup(group, version, plural)
        return found

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource whose objects are of a kind, or None."""
        part = self._parts.get(api_version.rpartition("/")[0])
        return self._by_kind.get((api_version, kind)) if part is None else part.by_kind(api_version, kind)

    def groups(self) -> Sequence[Group]:
        """The groups in served order, the core group first, those of custom resources last."""
        return [*self._groups.values(), *(group for part in self._parts.values() for group in part.groups())]

    def group(self, name: str) -> Group | None:
        """A group by name, or None."""
        found = self._groups.get(name)
        return self._parts[name].group(name) if found is None and name in self._parts else found

    def resources(self, group: str, version: str) -> Sequence[Resource]:
        """The resources of a group version, sorted by plural; empty when it is not served."""
        part = self._parts.get(group)
        return self._listed.get((group, version), ()) if part is None else part.resources(group, version)

    def all(self) -> Sequence[Resource]:
        """Every resource, by group version in served order, then by plural."""
        versions = [(group.name, version) for group in self.groups() for version in group.versions]
        return [resource for version in versions for resource in self.resources(*version)]

    def stored(self) -> Sequence[Resource]:
        """One resource for each key prefix: the one in whose version its objects are stored."""
        served = [resource for resource in self.all() if resource.api_version == resource.storage_api_version]
        return [*served, *self._unserved, *(one for part in self._parts.values() for one in part._unserved)]

    def knows_kind(self, api_version: str, kind: str) -> bool:
        """Whether the original knows the kind, whether or not it is served here."""
        return kind in self._kinds.get(api_version, ()) or self.by_kind(api_version, kind) is not None
