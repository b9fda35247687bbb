"""What the expressions of admission may name: of policies, and of the match conditions of webhooks."""

from collections.abc import Mapping

from kinepy_server.cel.errors import CompileError
from kinepy_server.cel.objects import made_type
from kinepy_server.cel.program import Program, compile_expression
from kinepy_server.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Field,
    Type,
    list_of,
    map_of,
)
from kinepy_server.cel.values import timestamp_of

_AUTHORIZATION = "kubernetes.authorization"
_TIME = Type(TIMESTAMP.name, adapt=timestamp_of)


def _object(type_name: str, /, **fields: Type) -> Type:
    return Type(type_name, fields={field: Field(field, kind) for field, kind in fields.items()})


def _texts(*names: str) -> dict[str, Type]:
    return dict.fromkeys(names, STRING)


_KIND = _object("kubernetes.GroupVersionKind", **_texts("group", "version", "kind"))
_RESOURCE = _object("kubernetes.GroupVersionResource", **_texts("group", "version", "resource"))
_USER = _object(
    "kubernetes.UserInfo",
    **_texts("username", "uid"),
    groups=list_of(STRING),
    extra=map_of(STRING, list_of(STRING)),
)
_REQUEST = _object(
    "kubernetes.AdmissionRequest",
    **_texts("subResource", "requestSubResource", "name", "namespace", "operation"),
    kind=_KIND,
    resource=_RESOURCE,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    userInfo=_USER,
    dryRun=BOOL,
    options=DYN,
)
_NAMESPACE = _object(
    "kubernetes.Namespace",
    metadata=_object(
        "kubernetes.NamespaceMetadata",
        **_texts("name", "generateName", "namespace", "UID", "resourceVersion"),
        labels=map_of(STRING, STRING),
        annotations=map_of(STRING, STRING),
        creationTimestamp=_TIME,
        deletionTimestamp=_TIME,
        deletionGracePeriodSeconds=Type("int"),
        generation=Type("int"),
        finalizers=list_of(STRING),
    ),
    spec=_object("kubernetes.NamespaceSpec", finalizers=list_of(STRING)),
    status=_object(
        "kubernetes.NamespaceStatus",
        phase=STRING,
        conditions=list_of(
            _object(
                "kubernetes.NamespaceCondition",
                **_texts("status", "type", "message", "reason"),
                lastTransitionTime=_TIME,
            )
        ),
    ),
)
_AUTHORIZER = _object(f"{_AUTHORIZATION}.Authorizer", requestResource=Type(f"{_AUTHORIZATION}.ResourceCheck"))
_ALWAYS: Mapping[str, Type] = {
    "object": DYN,
    "oldObject": DYN,
    "request": _REQUEST,
    "namespaceObject": _NAMESPACE,
}
_UNKNOWN: Mapping[str, Type] = {}
_PLAIN = {kind.name: kind for kind in (BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT)}


def _of_variable(kind: Type) -> Type:
    """What is known of a variable whose expression is of a type: nothing, where that is an object."""
    if kind.name in ("list", "map"):
        return Type(kind.name, tuple(map(_of_variable, kind.params)), bytes_min=2)
    return _PLAIN.get(kind.name, DYN)


class Terms:
    """What the expressions of one policy may name; each of its variables adds a name for those after it."""

    def __init__(self, *, params: bool, variables: bool, types: Mapping[str, Type] = _UNKNOWN) -> None:
        """`types` are those of objects and parameters, where they are known."""
        self._fields: dict[str, Field] = {}
        self._types = {**_ALWAYS, **({"params": DYN} if params else {}), **types}
        if variables:
            self._types["variables"] = Type("kubernetes.variables", fields=self._fields)

    def compile(self, text: str, *, authorizer: bool = True, makes: bool = False) -> Program:
        """An expression, which may make objects if it `makes`. Raises CompileError."""
        types = {**self._types, **({"authorizer": _AUTHORIZER} if authorizer else {})}
        if makes:
            return compile_expression(text, types, made=made_type)
        return compile_expression(text, types)

    def define(self, name: str, text: str) -> Program:
        """A variable, known from now on whatever comes of its expression. Raises CompileError."""
        try:
            program = self.compile(text)
        except CompileError:
            self._fields[name] = Field(name, DYN)
            raise
        self._fields[name] = Field(name, _of_variable(program.type))
        return program


def condition_terms() -> Terms:
    """What the match conditions of webhooks may name."""
    return Terms(params=False, variables=False)
