"""What the server knows of one resource in one API version.

Built-ins come from the data files, custom resources from CustomResourceDefinitions: the same values,
the same code path. Handlers ask these values; they never compare a resource's name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kinepy_server.auth.user import User
from kinepy_server.ending import Ending
from kinepy_server.resources.waiting import Needed
from kinepy_server.schema.types import Type

JsonObject = dict[str, Any]

INTERNAL_PACKAGES = {"": "core", "events.k8s.io": "core", "flowcontrol.apiserver.k8s.io": "flowcontrol"}
"""Groups whose internal types are not in a package named like the group's first label."""


@dataclass(frozen=True, slots=True)
class Subresource:
    """A subresource as discovery shows it. Group and version are empty when they are the parent's."""

    name: str
    kind: str
    verbs: Sequence[str]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Scaling:
    """How an object shows itself as a Scale: dotted paths of its numbers, and the selector of its pods as text."""

    replicas: str
    current: str
    selector: Callable[[JsonObject], str]
    must_exist: str = ""
    """The number as messages name it, of types whose objects have no Scale without one."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the resource's Table."""

    name: str
    type: str
    format: str
    description: str
    priority: int

    @classmethod
    def of(cls, row: Sequence[Any]) -> "Column":
        """A column from a row of the data file."""
        name, kind, text_format, priority, description = row
        return cls(name, kind, text_format, description, priority)


class Strategy(Protocol):
    """What a type does besides what all types do. Objects are plain JSON values in this API version.

    `prepare_*` and `default` change `new` in place; `validate_*` return causes in the original's order
    and never raise for what a client sent.
    """

    def default(self, new: JsonObject) -> None:
        """Fill in defaults, on create and update, after decoding."""
        ...

    def prepare_create(self, new: JsonObject) -> None:
        """Drop and set what the server decides on create (status, generation, ...)."""
        ...

    def prepare_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> None:
        """Take from the stored object what this endpoint may not change; bump the generation."""
        ...

    def validate_create(self, new: JsonObject) -> Sequence["FieldError"]:
        """Problems of a new object beyond its metadata."""
        ...

    def validate_update(
        self, new: JsonObject, old: JsonObject, *, subresource: str
    ) -> Sequence["FieldError"]:
        """Problems of a changed object beyond its metadata."""
        ...


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field's problem; `text` is the whole cause message, such as `Required value: name is needed`. Without a
    `reason` it is no cause to refuse the object: its writer is only warned."""

    field: str
    reason: str
    text: str

    @property
    def warning(self) -> str:
        """How a warning words it."""
        return f"{self.field}: {self.text}"


class Shape(Protocol):
    """What a CustomResourceDefinition says of the objects of one version. Built-in types have none."""

    @property
    def type(self) -> Type:
        """The type of managed fields."""
        ...

    @property
    def form(self) -> str:
        """Names the form in which objects are shown: it changes with the definition."""
        ...

    @property
    def ending(self) -> Ending:
        """Set off when the definition changes, or goes: watches end then."""
        ...

    @property
    def deletion(self) -> str:
        """Why nothing new is taken any more; empty while it is."""
        ...

    def prune(self, obj: JsonObject) -> Sequence[str]:
        """Drop what is not described, in place; the problems to tell, such as `unknown field "spec.x"`."""
        ...

    def is_settled(self, revision: int) -> bool:
        """Whether what was stored at a revision surely is in the form in which it is shown."""
        ...

    def openapi(self) -> JsonObject:
        """The schema as OpenAPI v3 shows it."""
        ...


class Converter(Protocol):
    """Converts the objects of a definition from any version into any other, by asking a webhook."""

    def era(self) -> int:
        """The number of the present span of time, from 1 on: what was converted before it is asked for anew."""
        ...

    def known(self, value: bytes, api_version: str) -> JsonObject:
        """The object in a version; the caller owns it. Raises `ConversionNeeded` if it must be asked for."""
        ...

    async def learn(self, value: bytes, api_version: str) -> None:
        """Ask for what `known` did not know. Raises 500."""
        ...

    async def convert_shared(self, values: Sequence[bytes], api_version: str) -> list[JsonObject]:
        """As `convert`; what others ask for at the same time is asked for once."""
        ...

    async def convert(self, values: Sequence[bytes], api_version: str) -> list[JsonObject]:
        """The objects in a version, in order; the caller owns them. Raises 500."""
        ...


class ConversionNeeded(Needed):
    """An object is wanted in a version in which it is not known yet. Who cannot ask for it answers 500."""

    def __init__(self, converter: Converter, value: bytes, api_version: str) -> None:
        super().__init__(500, "", f"the conversion to {api_version} is not known")
        self._converter, self._value, self._api_version = converter, value, api_version

    async def supply(self) -> None:
        """Ask for the conversion."""
        await self._converter.learn(self._value, self._api_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource in one API version."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool
    verbs: Sequence[str]
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    storage_version_hash: str = ""
    subresources: Mapping[str, Subresource] = field(default_factory=dict)

    key_prefix: str
    """The store's prefix without trailing slash, such as `/registry/configmaps`; namespace and name follow."""
    storage_api_version: str
    """apiVersion of what is stored, empty when nothing is; where it differs from this one, `from_storage` and
    `to_storage` convert."""
    from_storage: Callable[[JsonObject], JsonObject] | None = None
    to_storage: Callable[[JsonObject], JsonObject] | None = None
    converter: Converter | None = None
    """The webhook that converts between versions. Then `encode` leaves an object in this version, objects
    may be stored in any, and `from_storage` takes them when they have been converted."""

    # behaviour, from the fact tables
    name_rule: str
    unconditional_update: bool
    create_on_update: bool
    delete_returns_object: bool
    has_generation: bool
    validates_finalizer_names: bool = True
    """Core types refuse unqualified finalizers; custom resources only warn."""
    default_propagation: str = "Background"
    list_items_carry_kind: bool = False
    field_labels: Mapping[str, Callable[[JsonObject], str]] = field(default_factory=dict)
    """Selectable fields beyond metadata.name and metadata.namespace, read from an object in this version."""
    selects_namespace: bool = True
    """Whether metadata.namespace is a selectable field (not of Namespaces)."""
    field_label_error: str = "field label not supported: {label}"
    """With places for `{label}` and `{kind}`."""
    protobuf: bool = True
    strategic_merge: bool = True
    """Whether strategic merge patches are taken: not of custom resources, whose schemas do not say how."""

    strategy: Strategy
    schema: str
    """Name of the type in the schema table, used for decoding, managed fields, patches and OpenAPI."""
    columns: Sequence[Column] = ()
    cells: Callable[[JsonObject, float], Sequence[Any]] | None = None
    """The Table cells of an object at an instant (seconds since 1970)."""
    sign: Callable[[JsonObject, User], None] | None = None
    """Writes into a new object who creates it."""
    scaling: Scaling | None = None
    """Where the number of replicas is, for types that have a scale."""
    row_conditions: Callable[[JsonObject], Sequence[Mapping[str, str]] | None] | None = None
    """What is true of the whole row of an object, such as that it has ended."""
    warnings: Mapping[str, str] = field(default_factory=dict)
    """Verb -> what to warn its client of; `orphaned` is for a delete that leaves dependents behind by default."""
    cautions: Callable[[JsonObject, JsonObject | None], Sequence[str]] | None = None
    """What the writer of an object is to be warned of; the second one is what it was before."""
    bookmark_values: JsonObject = field(default_factory=dict)
    """What bookmarks show besides the fields that are always shown."""
    shape: Shape | None = None
    """Of custom resources alone, which are described by it, not by the schema table."""

    @property
    def stored(self) -> bool:
        """Whether there are objects of it; the others are actions, such as reviews."""
        return bool(self.storage_api_version)

    @property
    def form(self) -> str:
        """Names what the objects look like when they are shown in this version."""
        return self.api_version if self.shape is None else self.shape.form

    @property
    def api_version(self) -> str:
        """`group/version`, or `version` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """How messages name the resource: `configmaps`, `leases.coordination.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """How validation messages name the kind: `ConfigMap`, `Lease.coordination.k8s.io`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def internal_package(self) -> str:
        """The package of the original's internal type, which some messages name: `core`, `coordination`."""
        return INTERNAL_PACKAGES.get(self.group) or self.group.partition(".")[0]

    def key(self, namespace: str, name: str) -> bytes:
        """The store's key of an object."""
        middle = f"{self.key_prefix}/{namespace}/{name}" if self.namespaced else f"{self.key_prefix}/{name}"
        return middle.encode()

    def list_prefix(self, namespace: str) -> bytes:
        """The store's prefix of a collection, with its trailing slash; all namespaces for an empty one."""
        return (f"{self.key_prefix}/{namespace}/" if namespace else f"{self.key_prefix}/").encode()
