"""Scales: how many replicas an object has, whatever its type."""

from collections.abc import Mapping

from kinepy_server.errors import internal_error
from kinepy_server.resources.cells.common import age, at, name, row, selector_text
from kinepy_server.resources.resource import Column, JsonObject, Resource, Scaling
from kinepy_server.resources.strategies.plain import PlainStrategy
from kinepy_server.resources.strategies.typed import Hooks, Rules, TypeStrategy

SCHEMA = "autoscaling.v1.Scale"
_STRATEGY = TypeStrategy(SCHEMA, Rules(), Hooks())
_ANY_NUMBER = PlainStrategy()

_COLUMNS = (
    Column("Name", "string", "name", "", 0),
    Column("Desired", "integer", "", "", 0),
    Column("Available", "integer", "", "", 0),
    Column("Age", "string", "", "", 0),
)
_CELLS = row(name, at("spec.replicas", 0), at("status.replicas", 0), age)


def _selector(obj: JsonObject) -> str:
    return selector_text((obj.get("spec") or {}).get("selector"), absent="", empty="")


def _labels(obj: JsonObject) -> str:
    labels = (obj.get("spec") or {}).get("selector") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


_BY_SELECTOR = Scaling("spec.replicas", "status.replicas", _selector)
SCALINGS: Mapping[str, Scaling] = {
    "apps/v1/deployments": _BY_SELECTOR,
    "apps/v1/replicasets": _BY_SELECTOR,
    "apps/v1/statefulsets": _BY_SELECTOR,
    "v1/replicationcontrollers": Scaling("spec.replicas", "status.replicas", _labels),
}


def scale_resource(parent: Resource) -> Resource:
    """The Scales of a resource's objects, as if they were objects of their own."""
    return Resource(
        group="autoscaling",
        version="v1",
        plural=parent.plural,
        singular=parent.singular,
        kind="Scale",
        list_kind="",
        namespaced=parent.namespaced,
        verbs=(),
        key_prefix=parent.key_prefix,
        storage_api_version="autoscaling/v1",
        name_rule=parent.name_rule,
        unconditional_update=True,
        create_on_update=False,
        delete_returns_object=False,
        has_generation=False,
        # A custom resource judges the number that it gets.
        strategy=_STRATEGY if parent.shape is None else _ANY_NUMBER,
        schema=SCHEMA,
        columns=_COLUMNS,
        cells=_CELLS,
    )


def scale_of(scaling: Scaling, obj: JsonObject) -> JsonObject:
    """The Scale of an object. Raises the 500 of one that must have a number and has none."""
    metadata = {
        field: obj["metadata"][field]
        for field in ("name", "namespace", "uid", "creationTimestamp")
        if field in obj["metadata"]
    }
    status: JsonObject = {"replicas": _at(obj, scaling.current) or 0}
    selector = scaling.selector(obj)
    if selector:
        status["selector"] = selector
    wanted = _at(obj, scaling.replicas)
    if wanted is None and scaling.must_exist:
        raise internal_error(f'the spec replicas field "{scaling.must_exist}" does not exist')
    return {"metadata": metadata, "spec": {"replicas": wanted} if wanted else {}, "status": status}


def put_replicas(scaling: Scaling, obj: JsonObject, replicas: int) -> None:
    """Set the number of replicas of an object."""
    *parents, last = scaling.replicas.split(".")
    for parent in parents:
        obj = obj.setdefault(parent, {})
    obj[last] = replicas


def _at(obj: JsonObject, path: str) -> int | None:
    inner: JsonObject | None = obj
    *parents, last = path.split(".")
    for parent in parents:
        inner = (inner or {}).get(parent)
    found = (inner or {}).get(last)
    return found if isinstance(found, int) else None
