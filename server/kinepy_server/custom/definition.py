"""A CustomResourceDefinition as it is stored, read once. Schemas stay bytes until they are needed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import orjson

from kinepy import KeyValue
from kinepy_server.resources.resource import JsonObject

PREFIX = b"/registry/apiextensions.k8s.io/customresourcedefinitions/"
ESTABLISHED, NAMES_ACCEPTED, TERMINATING = "Established", "NamesAccepted", "Terminating"


def definition_key(group: str, plural: str) -> bytes:
    """The store's key of the definition of a resource."""
    return PREFIX + f"{plural}.{group}".encode()


@dataclass(slots=True)
class Names:
    """What a custom resource is called."""

    plural: str = ""
    singular: str = ""
    kind: str = ""
    list_kind: str = ""
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "Names":
        """Names from their JSON form."""
        return cls(
            value.get("plural", ""),
            value.get("singular", ""),
            value.get("kind", ""),
            value.get("listKind", ""),
            tuple(value.get("shortNames") or ()),
            tuple(value.get("categories") or ()),
        )

    def as_json(self) -> JsonObject:
        """The JSON form, as a decoded object has it."""
        made: JsonObject = {"kind": self.kind, "plural": self.plural}
        optional = {
            "singular": self.singular,
            "listKind": self.list_kind,
            "shortNames": list(self.short_names),
            "categories": list(self.categories),
        }
        return made | {name: value for name, value in optional.items() if value}


@dataclass(slots=True)
class Version:
    """One version of a definition, without its schema."""

    name: str
    served: bool
    storage: bool
    parts: Mapping[str, Any] = field(repr=False)
    """What else is said of it: subresources, columns, selectable fields, deprecation."""
    schema_mark: bytes
    """Tells schemas apart."""


class Definition:
    """One definition at one revision."""

    def __init__(self, kv: KeyValue) -> None:
        obj: JsonObject = orjson.loads(kv.value)
        self.key, self.revision, self.created = kv.key, int(kv.mod_revision), int(kv.create_revision)
        self._value = kv.value
        metadata, spec, status = obj["metadata"], obj["spec"], obj.get("status") or {}
        self.name: str = metadata["name"]
        self.uid: str = metadata["uid"]
        self.generation: int = metadata.get("generation", 1)
        self.annotations: Mapping[str, str] = metadata.get("annotations") or {}
        self.finalizers: Sequence[str] = metadata.get("finalizers") or ()
        self.deleting = "deletionTimestamp" in metadata
        self.group: str = spec["group"]
        self.namespaced = spec["scope"] == "Namespaced"
        self.requested = Names.of(spec["names"])
        conversion = spec.get("conversion") or {}
        self.converts = conversion.get("strategy") == "Webhook"
        self.webhook: JsonObject = conversion.get("webhook") or {}
        self.accepted = Names.of(status.get("acceptedNames") or {})
        self.conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
        self.versions = [_version(one) for one in spec["versions"]]
        self.mark = _mark({**spec, "versions": [[v.schema_mark, v.parts, v.served] for v in self.versions]})

    def condition(self, kind: str) -> Mapping[str, Any] | None:
        """The condition of a type, or None."""
        return next((one for one in self.conditions if one.get("type") == kind), None)

    def is_true(self, kind: str) -> bool:
        """Whether a condition holds."""
        found = self.condition(kind)
        return found is not None and found.get("status") == "True"

    @cached_property
    def storage(self) -> Version:
        """The version in which objects are stored."""
        return next(version for version in self.versions if version.storage)

    @property
    def one_schema(self) -> bool:
        """Whether all versions have the same schema."""
        return len({version.schema_mark for version in self.versions}) == 1

    def schema(self, version: str) -> JsonObject:
        """The schema of a version; a new one each time."""
        versions = orjson.loads(self._value)["spec"]["versions"]
        found = next(one for one in versions if one["name"] == version)
        schema: JsonObject = (found.get("schema") or {}).get("openAPIV3Schema") or {}
        return schema


def _version(value: JsonObject) -> Version:
    parts = {name: member for name, member in value.items() if name != "schema"}
    return Version(
        value["name"],
        bool(value.get("served")),
        bool(value.get("storage")),
        parts,
        _mark(value.get("schema")),
    )


def _mark(value: Any) -> bytes:
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=bytes.hex)
    return blake2b(text, digest_size=16).digest()
