"""Tokens of service accounts (`serviceaccounts/<name>/token`)."""

import base64
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from kinepy_server.context import Context
from kinepy_server.errors import Cause, invalid, not_found
from kinepy_server.objects.codec import decode
from kinepy_server.objects.times import timestamp
from kinepy_server.objects.uids import new_uid
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.response import Response
from kinepy_server.wire.body import decode_options

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_GROUP, _KIND = "authentication.k8s.io", "TokenRequest"
ISSUER = "https://kubernetes.default.svc.cluster.local"
SECONDS_MIN, SECONDS_MAX, SECONDS_DEFAULT = 600, 1 << 32, 3600


async def handle_create_token(context: Context, request: Request, resource: Resource) -> Response:
    """Issue a signed token for a service account; nothing is stored.

    The signing key lives as long as the process, and the server takes no such token as credentials yet.
    """
    kv = await context.store.get(resource.key(request.namespace, request.name))
    if kv is None:
        raise not_found(resource, request.name)
    content_type = request.headers.get("content-type", "")
    asked = decode_options(request.body, content_type=content_type, schema="authentication.v1.TokenRequest")
    spec = asked.get("spec") or {}
    seconds = spec.get("expirationSeconds")
    seconds = SECONDS_DEFAULT if seconds is None else seconds
    _check_seconds(seconds)
    account = decode(resource, kv)["metadata"]
    audiences = spec.get("audiences") or [ISSUER]
    now_us = context.clock.now_us()
    claims = _claims(account, audiences, now_s=now_us // 1_000_000, seconds=seconds)
    body = {
        "kind": _KIND,
        "apiVersion": f"{_GROUP}/v1",
        "metadata": {
            "name": account["name"],
            "namespace": account["namespace"],
            "uid": account["uid"],
            "creationTimestamp": timestamp(now_us),
        },
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": None},
        "status": {"token": _signed(claims), "expirationTimestamp": timestamp(now_us + seconds * 1_000_000)},
    }
    return Response(201, orjson.dumps(body))


def _check_seconds(seconds: int) -> None:
    if seconds < SECONDS_MIN:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > SECONDS_MAX:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    cause = Cause("FieldValueInvalid", f"Invalid value: {seconds}: {why}", "spec.expirationSeconds")
    raise invalid(_KIND, _GROUP, "", causes=[cause])


def _claims(account: JsonObject, audiences: list[str], *, now_s: int, seconds: int) -> JsonObject:
    namespace, name = account["namespace"], account["name"]
    return {
        "aud": audiences,
        "exp": now_s + seconds,
        "iat": now_s,
        "nbf": now_s,
        "iss": ISSUER,
        "jti": new_uid(),
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": account["uid"]}},
        "sub": f"system:serviceaccount:{namespace}:{name}",
    }


@cache
def _key() -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _signed(claims: JsonObject) -> str:
    """A JSON Web Token, signed with ES256."""
    from cryptography.hazmat.primitives.asymmetric import ec, utils
    from cryptography.hazmat.primitives.hashes import SHA256

    text = f"{_encoded({'alg': 'ES256', 'typ': 'JWT'})}.{_encoded(claims)}"
    r, s = utils.decode_dss_signature(_key().sign(text.encode(), ec.ECDSA(SHA256())))
    return f"{text}.{_base64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def _encoded(value: Any) -> str:
    return _base64(orjson.dumps(value))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
