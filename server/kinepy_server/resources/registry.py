"""The resources that a server knows, found by group, version and plural."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kinepy_server.resources.resource import Resource


@dataclass(frozen=True, slots=True)
class Group:
    """An API group with its versions in served order. The core group's name is empty."""

    name: str
    versions: Sequence[str]
    preferred: str


class Registry:
    """An immutable set of resources. A change of what is served is another registry."""

    def __init__(
        self, resources: Iterable[Resource], groups: Sequence[Group], *, kinds: Mapping[str, Iterable[str]]
    ) -> None:
        """`kinds` names every kind of each apiVersion that the original knows, served here or not."""
        self._by_path = {(r.group, r.version, r.plural): r for r in resources}
        self._groups = {group.name: group for group in groups}
        self._kinds = {version: frozenset(names) for version, names in kinds.items()}
        self._by_kind = {(r.api_version, r.kind): r for r in self._by_path.values()}
        self._listed: dict[tuple[str, str], list[Resource]] = {}
        for resource in sorted(self._by_path.values(), key=lambda r: r.plural):
            self._listed.setdefault((resource.group, resource.version), []).append(resource)

    def lookup(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource of a path, or None."""
        return self._by_path.get((group, version, plural))

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource whose objects are of a kind, or None."""
        return self._by_kind.get((api_version, kind))

    def groups(self) -> Sequence[Group]:
        """The groups in served order, the core group first."""
        return list(self._groups.values())

    def group(self, name: str) -> Group | None:
        """A group by name, or None."""
        return self._groups.get(name)

    def resources(self, group: str, version: str) -> Sequence[Resource]:
        """The resources of a group version, sorted by plural; empty when it is not served."""
        return self._listed.get((group, version), ())

    def all(self) -> Sequence[Resource]:
        """Every resource, by group version in served order, then by plural."""
        versions = [(group.name, version) for group in self._groups.values() for version in group.versions]
        return [resource for version in versions for resource in self.resources(*version)]

    def stored(self) -> Sequence[Resource]:
        """One resource for each key prefix: the one in whose version its objects are stored."""
        return [resource for resource in self.all() if resource.api_version == resource.storage_api_version]

    def knows_kind(self, api_version: str, kind: str) -> bool:
        """Whether the original knows the kind, whether or not it is served here."""
        return kind in self._kinds.get(api_version, ()) or (api_version, kind) in self._by_kind
