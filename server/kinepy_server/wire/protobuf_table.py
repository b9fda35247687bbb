"""The messages: which field has which number, name and type."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from kinepy_server.data import table
from kinepy_server.wire.protobuf_wire import BYTES, WIRE_TYPES

META = "meta.v1"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    `type` is a scalar or the name of a message. `pointer`: absent is something else than zero, so that zero
    is written only when it is set. `inlined`: the message's fields lie in the parent object.
    """

    name: str
    type: str
    repeated: bool = False
    map_key: str = ""
    pointer: bool = False
    inlined: bool = False

    @property
    def wire_type(self) -> int:
        """The wire type of its values; entries of a map are messages."""
        return BYTES if self.map_key else WIRE_TYPES.get(self.type, BYTES)


@cache
def fields_of(message: str) -> Mapping[int, Field]:
    """The fields of a message by number, ascending. Raises KeyError for an unknown message."""
    fields = {}
    entries = table("protobuf")["messages"][message]
    for number, entry in sorted(entries.items(), key=lambda item: int(item[0])):
        name, kind, label, flags = [*entry, "", "", ""][:4]
        fields[int(number)] = Field(
            name, kind, label == "[]", label.strip("[]{}"), pointer="p" in flags, inlined="i" in flags
        )
    return fields


@cache
def message_of(api_version: str, kind: str) -> str:
    """The message of a kind; empty when it has none."""
    data = table("protobuf")
    package = META if kind in data["metaKinds"] else data["prefixes"].get(api_version, "")
    name = f"{package}.{kind}"
    return name if name in data["messages"] else ""
