"""Every built-in type as it was recorded: the smallest object, objects as sent and as stored, rows."""

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from kinepy_server.auth.user import User
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import decode

RECORDED: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text())
PEM = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQg=="
NOW = "2026-01-01T00:00:00Z"
UID = "0a1b2c3d-0000-4000-8000-000000000001"
ADMIN = User("admin", ("system:masters", "system:authenticated"), "admin")
KEYS = sorted(RECORDED["minimal"])


def resource_of(key: str) -> Resource:
    """The resource of a key such as `apps/v1/deployments`."""
    *group, version, plural = key.split("/")
    found = builtin_registry().lookup(group[0] if group else "", version, plural)
    assert found is not None
    return found


def minimal(key: str) -> JsonObject:
    """The smallest object that is taken."""
    return cast(JsonObject, _filled(RECORDED["minimal"][key]))


def examples(section: str) -> Sequence[tuple[str, Any]]:
    """Key and recorded value of every example of a section."""
    return [(key, one) for key, found in RECORDED[section].items() for one in found]


def sent(key: str, value: JsonObject) -> JsonObject:
    """A recorded body, with what all bodies have."""
    smallest, body = minimal(key), _filled(value)
    head = {name: smallest[name] for name in ("apiVersion", "kind")}
    return {**head, **body, "metadata": {**smallest["metadata"], **body.get("metadata", {})}}


def made(key: str, body: JsonObject) -> JsonObject:
    """A body as a create makes it, but for what is allocated."""
    of = resource_of(key)
    obj, unknown = decode(of.schema, copy.deepcopy(body))
    assert not unknown
    obj["metadata"] |= {"uid": UID, "creationTimestamp": NOW, "namespace": "ns1"}
    if of.sign is not None:
        of.sign(obj, ADMIN)
    of.strategy.default(obj)
    of.strategy.prepare_create(obj)
    return obj  # type: ignore[no-any-return]


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _filled(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_filled(member) for member in value]
    return PEM if value == "<pem>" else value
