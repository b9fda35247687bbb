"""What is done to pods by creating something: binding to a node, eviction; and what needs a node to answer."""

from typing import Any

import orjson

from kinepy import KeyValue
from kinepy_server.context import Context
from kinepy_server.errors import StatusError, bad_request, not_found, raw_error
from kinepy_server.negotiate import Accepted, negotiate
from kinepy_server.objects.codec import decode, encode
from kinepy_server.objects.times import timestamp
from kinepy_server.read.shown import respond
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.response import Response
from kinepy_server.schema.decode import DecodeError
from kinepy_server.wire.body import decode_options
from kinepy_server.writes.create import actor_of
from kinepy_server.writes.delete import Deletion, deletion_actor
from kinepy_server.writes.delete_options import checked_options
from kinepy_server.writes.options import write_options
from kinepy_server.writes.outcome import Decision, Write, change
from kinepy_server.writes.review import ActionReview

CREATED = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'


async def handle_binding(context: Context, request: Request, resource: Resource) -> Response:
    """Assign a pod to a node; `bindings` of a namespace name the pod in their body."""
    accepted = negotiate(request.headers.get("accept", ""), verb=request.verb)
    options = write_options(request, "CreateOptions")
    binding = _body(request, "v1.Binding")
    pods = context.registry.lookup("", "v1", "pods")
    assert pods is not None, "pods are always served"
    name = request.name or binding["metadata"].get("name", "")
    now = timestamp(context.clock.now_us())
    review = ActionReview(
        context,
        request,
        pods,
        dry_run=options.dry_run,
        schema="v1.Binding",
        kind=("", "v1", "Binding"),
    )
    binding = await review.judged("CREATE", binding, check=_check_target)

    def decide(kv: KeyValue | None) -> Decision:
        if kv is None:
            raise not_found(pods, name)
        return Write(encode(pods, _bound(decode(pods, kv), binding, now=now)))

    key = pods.key(request.namespace, name)
    await change(context, key, decide, actor=actor_of(request, options), dry_run=options.dry_run)
    return await _created(accepted)


def _check_target(binding: JsonObject) -> None:
    target = binding.get("target") or {}
    if target.get("kind") not in (None, "", "Node"):
        shown = orjson.dumps(target["kind"]).decode()
        raise raw_error(f'target.kind: Unsupported value: {shown}: supported values: "Node", "<empty>"')
    if not target.get("name"):
        raise raw_error("target.name: Required value")


def _bound(pod: JsonObject, binding: JsonObject, *, now: str) -> JsonObject:
    name, spec, metadata = pod["metadata"]["name"], pod["spec"], pod["metadata"]
    if "deletionTimestamp" in metadata:
        raise _refused(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _refused(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _refused(name, f"pod {name} has non-empty .spec.schedulingGates")
    spec["nodeName"] = binding["target"]["name"]
    for part in ("annotations", "labels"):
        added = binding["metadata"].get(part)
        if added:
            metadata[part] = {**(metadata.get(part) or {}), **added}
    conditions = [c for c in pod["status"].get("conditions") or () if c.get("type") != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    if "generation" in metadata:
        scheduled["observedGeneration"] = metadata["generation"]
    pod["status"]["conditions"] = [*conditions, scheduled]
    return pod


def _refused(name: str, why: str) -> StatusError:
    return StatusError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on pods/binding "{name}": {why}',
        details={"name": name, "kind": "pods/binding"},
    )


async def handle_eviction(context: Context, request: Request, resource: Resource) -> Response:
    """Delete a pod as a drain does. Budgets are not looked at: nobody keeps count of healthy pods here."""
    accepted = negotiate(request.headers.get("accept", ""), verb=request.verb)
    options = write_options(request, "CreateOptions")
    eviction = _body(request, "policy.v1.Eviction")

    def check_name(eviction: JsonObject) -> None:
        if eviction["metadata"].get("name", "") != request.name:
            raise bad_request("name in URL does not match name in Eviction object")

    review = ActionReview(
        context,
        request,
        resource,
        dry_run=options.dry_run,
        schema="policy.v1.Eviction",
        kind=("policy", "v1", "Eviction"),
    )
    eviction = await review.judged("CREATE", eviction, check=check_name)
    deletion_options = checked_options(eviction.get("deleteOptions") or {}, dry_run=options.dry_run)
    deletion = Deletion(context, resource, request.name, options=deletion_options)
    await deletion.run(request.namespace, actor=deletion_actor(request))
    return await _created(accepted)


async def handle_connect(context: Context, request: Request, resource: Resource) -> Response:
    """Logs, commands, ports and proxies lead to nodes, which this server does not reach."""
    kv = await context.store.get(resource.key(request.namespace, request.name))
    if kv is None:
        raise not_found(resource, request.name)
    if resource.kind == "Pod" and not (decode(resource, kv).get("spec") or {}).get("nodeName"):
        raise bad_request(f"pod {request.name} does not have a host assigned")
    raise StatusError(503, "ServiceUnavailable", "no nodes are reached from this server")


def _body(request: Request, schema: str) -> JsonObject:
    content_type = request.headers.get("content-type", "")
    try:
        body: dict[str, Any] = decode_options(request.body, content_type=content_type, schema=schema)
    except DecodeError as error:
        raise bad_request(str(error)) from None
    body.setdefault("metadata", {})
    return body


async def _created(accepted: Accepted) -> Response:
    response = await respond(CREATED, accepted)
    response.status = 201
    return response
