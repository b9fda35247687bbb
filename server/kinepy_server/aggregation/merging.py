"""The groups that discovery tells: what this server serves and what others serve, in their order. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from kinepy_server.aggregation.apiservice import ApiService, name_of
from kinepy_server.aggregation.priorities import Priority, own_priority
from kinepy_server.aggregation.state import Published
from kinepy_server.custom.resources import version_rank
from kinepy_server.resources.registry import Group, Registry


class Catalog(NamedTuple):
    """What this server serves, and what discovery tells of others; None where that is nothing."""

    registry: Registry
    published: Published | None

    def groups(self) -> Sequence[Group]:
        """Every group with its versions, in the order of `/apis`."""
        return _all_groups(self)

    def group(self, name: str) -> Group | None:
        """One of them."""
        if self.published is None:
            return self.registry.group(name)
        return next((group for group in self.groups() if group.name == name), None)

    def described_groups(self) -> Sequence[Group]:
        """The groups in the order of the aggregated form, without what no backend was asked about yet."""
        registry, published = self
        if published is None:
            return registry.groups()
        asked = [one for one in published.remote if one.group_version in published.documents]
        groups = _groups(registry, published, asked)
        return sorted(groups, key=lambda group: (-max(_of_group(published, group)), group.name))

    def told(self, group: str, version: str) -> Mapping[str, Any] | None:
        """What a backend tells of a group version; None for what this server serves itself."""
        return self.published.documents.get((group, version)) if self.published is not None else None


@lru_cache(maxsize=4)
def _all_groups(catalog: Catalog) -> Sequence[Group]:
    registry, published = catalog
    if published is None:
        return registry.groups()
    groups = _groups(registry, published, published.remote)
    return sorted(groups, key=lambda group: min(_by_name(published, group)))


def _groups(registry: Registry, published: Published, remote: Iterable[ApiService]) -> list[Group]:
    versions: dict[str, list[str]] = {group.name: list(group.versions) for group in registry.groups()}
    for one in remote:
        known = versions.setdefault(one.group, [])
        if one.version not in known:
            known.append(one.version)
    groups = []
    for name, found in versions.items():
        # Two steps, since among equals the newest version comes first.
        found.sort(key=version_rank, reverse=True)
        found.sort(key=lambda version: -_priority(published, name, version)[1])
        groups.append(Group(name, found, found[0]))
    return groups


def _priority(published: Published, group: str, version: str) -> Priority:
    return published.priorities.get((group, version)) or own_priority(group, version)


def _of_group(published: Published, group: Group) -> Iterable[int]:
    return (_priority(published, group.name, version)[0] for version in group.versions)


def _by_name(published: Published, group: Group) -> Iterable[tuple[int, str]]:
    return (
        (-_priority(published, group.name, version)[0], name_of(group.name, version))
        for version in group.versions
    )
