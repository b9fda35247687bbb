"""What a kube-apiserver stored, in the form in which it is stored here.

It keeps built-in types in protobuf and custom objects in JSON, both in their storage version; here both are
canonical JSON. Values of keys that are served by no type here are left as they are.
"""

from functools import cache
from typing import Any, Final

import orjson

from kinepy.transfer.problems import BadTransfer
from kinepy_server.objects.codec import canonical, encode
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import Resource
from kinepy_server.schema.decode import DecodeError, decode
from kinepy_server.wire.protobuf import ProtobufError, decode_message, open_envelope
from kinepy_server.wire.protobuf_wire import MAGIC

ENCRYPTED: Final = b"k8s:enc:"
"""How values begin that are encrypted at rest."""


def stored_here(key: bytes, value: bytes) -> bytes:
    """The value to store under a key for one that a kube-apiserver stored.

    Raises `BadTransfer` for a value of a type that is served here, and that would be unreadable.
    """
    try:
        return _converted(value) if value.startswith((MAGIC, b"{")) else _left(key, value)
    except _Unknown:
        return _left(key, value)
    except (ProtobufError, DecodeError) as error:
        raise BadTransfer(
            f"the value of key {_shown(key)} cannot be read ({error}): have its kube-apiserver write it anew"
        ) from error


class _Unknown(Exception):
    """The value is of no type that is stored here."""


def _converted(value: bytes) -> bytes:
    if value.startswith(MAGIC):
        envelope = open_envelope(value)
        resource = _resource(envelope.api_version, envelope.kind)
        return _encoded(resource, decode_message(resource.schema, envelope.raw))
    try:
        obj = orjson.loads(value)
    except orjson.JSONDecodeError:
        raise _Unknown from None
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not api_version or not kind or not isinstance(obj.get("metadata"), dict) or not obj["metadata"]:
        raise _Unknown
    builtin = builtin_registry().by_kind(api_version, kind)
    return canonical(api_version, kind, obj) if builtin is None else _encoded(builtin, obj)


def _encoded(resource: Resource, value: Any) -> bytes:
    obj, _ = decode(resource.schema, value)
    return encode(resource, obj)


def _resource(api_version: str, kind: str) -> Resource:
    resource = builtin_registry().by_kind(api_version, kind)
    if resource is None or not resource.stored:
        raise _Unknown
    return resource


def _left(key: bytes, value: bytes) -> bytes:
    """The value as it is, unless a type is served under its key."""
    if not key.startswith(_prefixes()):
        return value
    what = "is encrypted" if value.startswith(ENCRYPTED) else "is in no form or version that is served here"
    raise BadTransfer(
        f"the value of key {_shown(key)} {what}: have its kube-apiserver write it anew, in plain and as it is served"
    )


@cache
def _prefixes() -> tuple[bytes, ...]:
    return tuple(f"{resource.key_prefix}/".encode() for resource in builtin_registry().stored())


def _shown(key: bytes) -> str:
    return key.decode("utf-8", "replace")
