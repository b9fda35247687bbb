"""Tokens of service accounts (`serviceaccounts/<name>/token`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from kinepy import KeyValue
from kinepy_server.auth.accounts import AUDIENCES, BOUND_TO, claims_of
from kinepy_server.context import Context
from kinepy_server.errors import Cause, StatusError, bad_request, details, invalid, not_found
from kinepy_server.objects.codec import decode
from kinepy_server.objects.times import timestamp
from kinepy_server.read.shown import respond, single_view
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.response import Response
from kinepy_server.wire.body import decode_options
from kinepy_server.writes.review import ActionReview

_GROUP, _KIND = "authentication.k8s.io", "TokenRequest"
SECONDS_MIN, SECONDS_MAX, SECONDS_DEFAULT = 600, 1 << 32, 3600
_KINDS = {"Pod": "pod", "Secret": "secret", "Node": "node"}


async def handle_create_token(context: Context, request: Request, resource: Resource) -> Response:
    """Issue a signed token for a service account; nothing is stored."""
    _, accepted = single_view(context, request, resource)
    content_type = request.headers.get("content-type", "")
    asked = decode_options(request.body, content_type=content_type, schema="authentication.v1.TokenRequest")
    spec = asked["spec"] = asked.get("spec") or {}
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = SECONDS_DEFAULT
    review = ActionReview(
        context,
        request,
        resource,
        dry_run=False,
        schema=f"authentication.v1.{_KIND}",
        kind=(_GROUP, "v1", _KIND),
    )
    asked = await review.judged("CREATE", asked, check=partial(_check_address, request))
    metadata, spec = asked.get("metadata") or {}, asked.get("spec") or {}
    account = await _account(context, request, resource, uid=metadata.get("uid", ""))
    seconds = spec.get("expirationSeconds", SECONDS_DEFAULT)
    _check_seconds(seconds)
    reference = spec.get("boundObjectRef")
    bound = await _Binder(context, request).bound(reference) if reference is not None else {}
    audiences = spec.get("audiences") or list(AUDIENCES)
    now_us = context.clock.now_us()
    claims = claims_of(account, bound, audiences=audiences, now_s=now_us // 1_000_000, seconds=seconds)
    body = {
        "kind": _KIND,
        "apiVersion": f"{_GROUP}/v1",
        "metadata": {
            "name": account["name"],
            "namespace": account["namespace"],
            "uid": account["uid"],
            "creationTimestamp": timestamp(now_us),
        },
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference},
        "status": {
            "token": context.identity.accounts.key.sign(claims),
            "expirationTimestamp": timestamp(now_us + seconds * 1_000_000),
        },
    }
    response = await respond(orjson.dumps(body), accepted)
    response.status = 201
    return response


async def _account(context: Context, request: Request, resource: Resource, *, uid: str) -> JsonObject:
    """The metadata of the service account; of this uid, if one is given."""
    kv = await context.store.get(resource.key(request.namespace, request.name))
    if kv is None:
        raise not_found(resource, request.name)
    metadata: JsonObject = decode(resource, kv)["metadata"]
    if uid and uid != metadata["uid"]:
        why = (
            f"the UID in the token request ({uid}) does not match the UID of the service account"
            f" ({metadata['uid']})"
        )
        raise _conflict(f"{_KIND}.{_GROUP}", request.name, why, group=_GROUP)
    return metadata


def _check_address(request: Request, asked: JsonObject) -> None:
    metadata = asked.get("metadata") or {}
    for field, url in (("name", request.name), ("namespace", request.namespace)):
        given = metadata.get(field)
        if given and given != url:
            why = f"must match the service account {field} if specified"
            text = f"Invalid value: {orjson.dumps(given).decode()}: {why}"
            cause = Cause("FieldValueInvalid", text, f"metadata.{field}")
            raise invalid(_KIND, _GROUP, request.name, causes=[cause])


def _check_seconds(seconds: int) -> None:
    if seconds < SECONDS_MIN:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > SECONDS_MAX:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    cause = Cause("FieldValueInvalid", f"Invalid value: {seconds}: {why}", "spec.expirationSeconds")
    raise invalid(_KIND, _GROUP, "", causes=[cause])


@dataclass(frozen=True, slots=True)
class _Binder:
    """Finds what a token is to be bound to."""

    context: Context
    request: Request

    async def bound(self, reference: Mapping[str, str]) -> Mapping[str, Any]:
        """What the token claims of the object, and of the node of a pod."""
        kind, name = reference.get("kind", ""), reference.get("name", "")
        group, _, version = reference.get("apiVersion", "").rpartition("/")
        claim = _KINDS.get(kind)
        if claim is None or group:
            raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        resource, kv = await self._find(claim, name)
        if kv is None:
            raise not_found(resource, name)
        obj = decode(resource, kv)
        if claim == "pod":
            self._check_account(obj)
        uid, stored = reference.get("uid", ""), obj["metadata"]["uid"]
        if uid and uid != stored:
            why = (
                f"the UID in the bound object reference ({uid}) does not match the UID in record."
                " The object might have been deleted and then recreated"
            )
            raise _conflict(kind, name, why, group="", kind=kind)
        claims = {claim: {"name": name, "uid": stored}}
        node = obj.get("spec", {}).get("nodeName") if claim == "pod" else None
        return {"node": await self._node(node), **claims} if node else claims

    def _check_account(self, pod: JsonObject) -> None:
        if pod.get("spec", {}).get("serviceAccountName") != self.request.name:
            why = "to pod running with different serviceaccount name."
            raise bad_request(f'cannot bind token for serviceaccount "{self.request.name}" {why}')

    async def _node(self, name: str) -> Mapping[str, str]:
        """A pod's node, which need not be there."""
        resource, kv = await self._find("node", name)
        return (
            {"name": name} if kv is None else {"name": name, "uid": decode(resource, kv)["metadata"]["uid"]}
        )

    async def _find(self, claim: str, name: str) -> tuple[Resource, KeyValue | None]:
        plural = BOUND_TO[claim]
        resource = self.context.registry.lookup("", "v1", plural)
        assert resource is not None, f"{plural} are always served"
        return resource, await self.context.store.get(resource.key(self.request.namespace, name))


def _conflict(subject: str, name: str, why: str, *, group: str, kind: str = _KIND) -> StatusError:
    message = f'Operation cannot be fulfilled on {subject} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=details(name=name, group=group, kind=kind))
