"""The roles and bindings of a fresh server, and of one that an older version has run on.

As in the original: what is missing is made, what lacks rules, subjects or labels gets them, and nothing is taken
away. Objects whose autoupdate annotation is not `true` any more are left alone.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kinepy import KeyRange, KeyValue
from kinepy.errors import KeyExists
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.auth.rbac.policy import GROUP
from kinepy_server.auth.rbac.rules import Rule, read_rules, rule_object, uncovered
from kinepy_server.context import Context
from kinepy_server.data import table
from kinepy_server.objects.codec import decode
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.writes.outcome import Decision, Keep, change
from kinepy_server.writes.prepare import prepare_changed, prepare_new
from kinepy_server.writes.versions import ServedVersions

AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
LABEL = ("kubernetes.io/bootstrapping", "rbac-defaults")
MANAGER = "kube-apiserver"


async def make_bootstrap_policy(context: Context) -> None:
    """Make or complete what every server has. Of many processes that start at once one makes each object."""
    for plural, entries in table("bootstrap_rbac").items():
        resource = context.registry.lookup(GROUP, "v1", plural)
        assert resource is not None, f"{plural} are always served"
        by = Writer(
            MANAGER, ServedVersions(context.registry, resource), "", timestamp(context.clock.now_us())
        )
        work = _Work(context, resource, by)
        there = await context.store.range(KeyRange.prefix(resource.list_prefix("")))
        stored = {kv.key: kv for kv in there.items}
        writes = [work.settle(place, entry, stored) for place, entry in entries.items()]
        await asyncio.gather(*(write for write in writes if write is not None))


@dataclass(frozen=True, slots=True)
class _Work:
    """One resource's bootstrap objects."""

    context: Context
    resource: Resource
    by: Writer

    def settle(self, place: str, entry: Mapping[str, Any], stored: Mapping[bytes, KeyValue]) -> Any:
        """The write that is needed for one object, to be awaited; None when none is."""
        namespace, _, name = place.rpartition("/")
        key = self.resource.key(namespace, name)
        wanted = bootstrap_object(namespace, name, entry)
        found = stored.get(key)
        if found is None:
            return self._make(key, wanted)
        if not complete(decode(self.resource, found), wanted):
            return None
        return self._complete(key, wanted)

    async def _make(self, key: bytes, wanted: JsonObject) -> None:
        value = prepare_new(self.resource, wanted, self.by, warnings=[])
        try:
            await self.context.store.create(key, value, actor=MANAGER)
        except KeyExists:
            # Another process starts too.
            return

    async def _complete(self, key: bytes, wanted: JsonObject) -> None:
        def decide(kv: KeyValue | None) -> Decision:
            if kv is None:
                return Keep()
            old, new = decode(self.resource, kv), decode(self.resource, kv)
            if not complete(new, wanted):
                return Keep()
            return prepare_changed(self.resource, new, old, writer=self.by, warnings=[])

        await change(self.context, key, decide, actor=MANAGER)


def complete(held: JsonObject, wanted: JsonObject) -> bool:
    """Add to a stored object what it lacks of a bootstrap object; whether there was something."""
    metadata = held["metadata"]
    if (metadata.get("annotations") or {}).get(AUTOUPDATE) != "true":
        return False
    changed = _add_rules(held, wanted) | _add_subjects(held, wanted)
    for part in ("labels", "annotations"):
        lacking = wanted["metadata"][part].items() - (metadata.get(part) or {}).items()
        if lacking:
            metadata.setdefault(part, {}).update(lacking)
            changed = True
    return changed


def _add_rules(held: JsonObject, wanted: JsonObject) -> bool:
    # Rules of a role that gathers others' are the gathering's affair.
    if "aggregationRule" in wanted:
        selectors = held.setdefault("aggregationRule", {}).setdefault("clusterRoleSelectors", [])
        lacking = [one for one in wanted["aggregationRule"]["clusterRoleSelectors"] if one not in selectors]
        selectors.extend(lacking)
        return bool(lacking)
    if not wanted.get("rules") or held.get("rules") == wanted["rules"]:
        return False
    missing = uncovered(read_rules(held.get("rules")), read_rules(wanted["rules"]))
    if missing:
        held["rules"] = [*(held.get("rules") or ()), *(rule_object(rule) for rule in missing)]
    return bool(missing)


def _add_subjects(held: JsonObject, wanted: JsonObject) -> bool:
    if "subjects" not in wanted:
        return False
    subjects = held.get("subjects") or []
    lacking = [one for one in wanted["subjects"] if one not in subjects]
    if lacking:
        held["subjects"] = [*subjects, *lacking]
    return bool(lacking)


def bootstrap_object(namespace: str, name: str, entry: Mapping[str, Any]) -> JsonObject:
    """A bootstrap object, as the data file describes it."""
    metadata: JsonObject = {
        "name": name,
        "annotations": {AUTOUPDATE: "true"},
        "labels": dict([LABEL], **entry.get("labels", {})),
    }
    if namespace:
        metadata["namespace"] = namespace
    return {"metadata": metadata, **dict(_content(entry))}


def _content(entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if "role" in entry:
        kind, name = entry["role"]
        yield "roleRef", {"apiGroup": GROUP, "kind": kind, "name": name}
        yield "subjects", [_subject(*row) for row in entry["subjects"]]
    elif "gathers" in entry:
        yield (
            "aggregationRule",
            {"clusterRoleSelectors": [{"matchLabels": dict(one)} for one in entry["gathers"]]},
        )
        yield "rules", None
    else:
        yield "rules", [_rule(row) for row in entry["rules"]]


def _rule(row: Sequence[Sequence[str]]) -> JsonObject:
    return rule_object(Rule(*row))


def _subject(kind: str, name: str, namespace: str) -> JsonObject:
    if kind == "ServiceAccount":
        return {"kind": kind, "name": name, "namespace": namespace}
    return {"apiGroup": GROUP, "kind": kind, "name": name}
