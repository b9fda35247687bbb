"""Objects and their stored bytes.

A stored value is canonical JSON in the storage version, without resourceVersion. It starts with the
constant head `{"apiVersion":…,"kind":…,"metadata":{`, then come metadata's members in order, then the
other members in order. So equal objects have equal bytes, and every form of an object on the wire is
made by slicing: another head in front, the resourceVersion spliced in after it, nothing parsed.

Splicing costs less than the memory that a second copy of every object would take, so nothing is kept
for it. Only what is served in another version than it is stored in is parsed and converted; those bytes
are kept with the record.
"""

from collections.abc import Sequence
from functools import lru_cache

import orjson

from kinepy import KeyValue
from kinepy_server.resources.resource import JsonObject, Resource

_SORTED = orjson.OPT_SORT_KEYS
_OUTSIDE_BODY = frozenset(("apiVersion", "kind", "metadata"))
_KEPT_WHEN_ZERO = "deletionGracePeriodSeconds"


@lru_cache(maxsize=4096)
def head(api_version: str, kind: str) -> bytes:
    """The constant first bytes of every object of a kind, up to and with metadata's opening brace."""
    return b'{"apiVersion":%b,"kind":%b,"metadata":{' % (orjson.dumps(api_version), orjson.dumps(kind))


def encode(resource: Resource, obj: JsonObject) -> bytes:
    """The bytes to store for an object in the resource's version.

    metadata's resourceVersion and its empty members are dropped. Equal objects give equal bytes.
    """
    if resource.to_storage is not None:
        obj = resource.to_storage(obj)
    version = resource.storage_api_version if resource.converter is None else resource.api_version
    return canonical(version, resource.kind, obj)


def canonical(api_version: str, kind: str, obj: JsonObject) -> bytes:
    """The bytes of an object that is in a version."""
    metadata = {
        name: value
        for name, value in obj["metadata"].items()
        if (value or (name == _KEPT_WHEN_ZERO and value is not None)) and name != "resourceVersion"
    }
    return _canonical(head(api_version, kind), metadata, obj)


def renamed(value: bytes, name: str) -> bytes:
    """A value with another name in it."""
    obj: JsonObject = orjson.loads(value)
    obj["metadata"]["name"] = name
    return _canonical(head(obj["apiVersion"], obj["kind"]), obj["metadata"], obj)


def is_in_version(value: bytes, api_version: str, kind: str) -> bool:
    """Whether a value is in a version."""
    return value.startswith(head(api_version, kind))


def decode(resource: Resource, kv: KeyValue) -> JsonObject:
    """The object in the resource's version, with its resourceVersion. The caller owns it."""
    return decode_at(resource, kv, kv.mod_revision)


def decode_at(resource: Resource, kv: KeyValue, revision: int) -> JsonObject:
    """As `decode`, with another resourceVersion: a deleted object shows that of its delete."""
    # A converted object is kept, since its webhook cannot be asked here.
    value = kv.value if resource.converter is None else _converted(resource, kv)
    obj: JsonObject = orjson.loads(value)
    if resource.converter is None and not is_shown_as_stored(resource, kv):
        assert resource.from_storage is not None
        obj = resource.from_storage(obj)
    obj["apiVersion"] = resource.api_version
    obj["metadata"]["resourceVersion"] = str(revision)
    return obj


def object_bytes(resource: Resource, kv: KeyValue) -> bytes:
    """The whole object as JSON, with apiVersion, kind and resourceVersion."""
    return object_bytes_at(resource, kv, kv.mod_revision)


def object_bytes_at(resource: Resource, kv: KeyValue, revision: int) -> bytes:
    """As `object_bytes`, with another resourceVersion: a deleted object shows that of its delete.

    Revision 0, that of an object which was not stored, is left out.
    """
    value = kv.value if is_shown_as_stored(resource, kv) else _converted(resource, kv)
    if not revision:
        return head(resource.api_version, resource.kind) + value[value.index(b"{", 1) + 1 :]
    return b'%b"resourceVersion":"%d",%b' % (
        head(resource.api_version, resource.kind),
        revision,
        value[value.index(b"{", 1) + 1 :],
    )


def shown_value(resource: Resource, kv: KeyValue) -> bytes:
    """What `kv.value` would be if the resource's version were the storage version.

    Of the metadata only a conversion webhook changes anything: labels and annotations.
    """
    return kv.value if resource.converter is None else _converted(resource, kv)


def is_shown_as_stored(resource: Resource, kv: KeyValue) -> bool:
    """Whether the members of a stored value are shown as they are."""
    if resource.from_storage is None:
        return True
    return resource.shape is not None and resource.shape.is_settled(kv.mod_revision)


def item_bytes(resource: Resource, kv: KeyValue) -> bytes:
    """The object as an item of a list."""
    return items_bytes(resource, (kv,))[0]


def items_bytes(resource: Resource, kvs: Sequence[KeyValue]) -> list[bytes]:
    """The objects as items of a list, in order. Built-in types leave out apiVersion and kind there."""
    if resource.list_items_carry_kind:
        return [object_bytes(resource, kv) for kv in kvs]
    if resource.from_storage is None:
        pairs = [(kv.value, kv.mod_revision) for kv in kvs]
    else:
        pairs = [(_converted(resource, kv), kv.mod_revision) for kv in kvs]
    return [
        b'{"metadata":{"resourceVersion":"%d",%b' % (revision, value[value.index(b"{", 1) + 1 :])
        for value, revision in pairs
    ]


def _converted(resource: Resource, kv: KeyValue) -> bytes:
    """A stored value as it would be if the resource's version were the storage version; kept in `kv.face`."""
    found = face_of(resource, kv)
    if found is not None:
        return found
    if resource.converter is None or is_in_version(kv.value, resource.api_version, resource.kind):
        return keep_converted(resource, kv, orjson.loads(kv.value))
    return keep_converted(resource, kv, resource.converter.known(kv.value, resource.api_version))


def face_of(resource: Resource, kv: KeyValue, *, era: int = 0) -> bytes | None:
    """What was kept of a value in the resource's version since an era of its converter, if it still holds."""
    kept = kv.face
    if not isinstance(kept, dict):
        return None
    found: tuple[str, bytes, int] | None = kept.get(resource.api_version)
    return found[1] if found is not None and found[0] == resource.form and found[2] >= era else None


def keep_converted(resource: Resource, kv: KeyValue, obj: JsonObject) -> bytes:
    """Keep how a stored object is shown; `obj` is it before the resource's `from_storage`."""
    kept = kv.face
    if not isinstance(kept, dict):
        kept = kv.face = {}
    assert resource.from_storage is not None
    obj = resource.from_storage(obj)
    value = _canonical(head(resource.api_version, resource.kind), obj["metadata"], obj)
    # Most custom objects are stored as they are shown: they need no second copy.
    value = kv.value if value == kv.value else value
    era = resource.converter.era() if resource.converter is not None else 0
    kept[resource.api_version] = (resource.form, value, era)
    return value


def _canonical(front: bytes, metadata: JsonObject, obj: JsonObject) -> bytes:
    # A stored object has at least a name, so the member that follows the spliced resourceVersion exists.
    assert metadata, "an object without metadata"
    body = {name: value for name, value in obj.items() if name not in _OUTSIDE_BODY}
    tail = b"," + orjson.dumps(body, option=_SORTED)[1:] if body else b"}"
    return front + orjson.dumps(metadata, option=_SORTED)[1:] + tail
