"""LimitRanges: what containers get when they ask for nothing, and how much anything may use."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

from kinepy_server.admission.limits import Usage, problems
from kinepy_server.admission.stored import stored_objects
from kinepy_server.context import Context
from kinepy_server.errors import forbidden
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.quantity import quantity_value

ANNOTATION = "kubernetes.io/limit-ranger"
Check = Callable[[JsonObject, Sequence[JsonObject]], Iterator[str]]


async def pod_limits(
    context: Context, resource: Resource, obj: JsonObject
) -> Callable[[JsonObject], None] | None:
    """Gives a namespace's defaults to the containers of pods, and holds pods to its limits."""
    return await _limits(context, resource, obj, check=_pod_problems, prepare=_give_defaults)


async def claim_limits(
    context: Context, resource: Resource, obj: JsonObject
) -> Callable[[JsonObject], None] | None:
    """Holds claims of storage to a namespace's limits."""
    return await _limits(context, resource, obj, check=_claim_problems)


async def _limits(
    context: Context,
    resource: Resource,
    obj: JsonObject,
    *,
    check: Check,
    prepare: Callable[[JsonObject, Sequence[JsonObject]], None] | None = None,
) -> Callable[[JsonObject], None] | None:
    items = await _limit_items(context, obj["metadata"].get("namespace", ""))
    if not items:
        return None

    def admit(obj: JsonObject) -> None:
        if prepare is not None:
            prepare(obj, items)
        found = list(check(obj, items))
        if found:
            why = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
            raise forbidden(resource, obj["metadata"].get("name", ""), why)

    return admit


async def _limit_items(context: Context, namespace: str) -> Sequence[JsonObject]:
    ranges = await stored_objects(context, ("", "v1", "limitranges"), namespace)
    return [item for one in ranges for item in one["spec"].get("limits") or ()]


def _containers(pod: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for field, word in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(field) or ():
            yield word, container


def _give_defaults(pod: JsonObject, items: Sequence[JsonObject]) -> None:
    told = []
    for item in items:
        if item.get("type") != "Container":
            continue
        for word, container in _containers(pod):
            resources = container.setdefault("resources", {})
            for field, source in (("requests", "defaultRequest"), ("limits", "default")):
                added = _add(resources, field, item.get(source) or {})
                if added:
                    told.append(f"{', '.join(added)} {field[:-1]} for {word} {container.get('name', '')}")
    if told:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(told)}"


def _add(resources: JsonObject, field: str, defaults: Mapping[str, str]) -> list[str]:
    present = resources.get(field) or {}
    added = sorted(name for name in defaults if name not in present)
    if added:
        resources[field] = {**present, **{name: defaults[name] for name in added}}
    return added


def _pod_problems(pod: JsonObject, items: Sequence[JsonObject]) -> Iterator[str]:
    for item in items:
        match item.get("type"):
            case "Container":
                for _, container in _containers(pod):
                    yield from problems(item, "Container", Usage.of(container.get("resources") or {}))
            case "Pod":
                yield from problems(item, "Pod", _whole(pod))


def _whole(pod: JsonObject) -> Usage:
    """What a pod uses: all containers together, or the largest init container if that is more."""
    usage = Usage({}, {})
    for word, container in _containers(pod):
        own = Usage.of(container.get("resources") or {})
        combine = max if word == "init container" else Decimal.__add__
        usage = Usage(
            _combined(usage.requests, own.requests, combine), _combined(usage.limits, own.limits, combine)
        )
    return usage


def _combined(
    left: Mapping[str, Decimal], right: Mapping[str, Decimal], combine: Callable[[Decimal, Decimal], Decimal]
) -> Mapping[str, Decimal]:
    return {**left, **{name: combine(left.get(name, Decimal(0)), value) for name, value in right.items()}}


def _claim_problems(claim: JsonObject, items: Sequence[JsonObject]) -> Iterator[str]:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    usage = Usage({name: quantity_value(text) for name, text in requests.items()}, {})
    for item in items:
        if item.get("type") == "PersistentVolumeClaim":
            yield from problems(item, "PersistentVolumeClaim", usage, requests_only=True)
