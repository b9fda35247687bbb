"""Tokens of service accounts: what they claim, and when they are good."""

import base64
import json
from typing import Any

import pytest

from kinepy_server.auth.jwt import encode_base64
from kinepy_server.auth.setup import Security
from kinepy_server.auth.signing import SigningKey, ensure_signing_key, new_signing_key
from kinepy_server.context import Context
from tests.auth.conftest import USERS, Guarded, guarded_over
from tests.http.writing import CORE

ACCOUNTS = f"{CORE}/serviceaccounts"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = "/apis/authentication.k8s.io/v1/tokenreviews"
HOUR_US = 3600 * 1_000_000


async def account(server: Guarded, name: str = "sa") -> str:
    """Make a service account; returns its uid."""
    reply = await server("admin", "POST", ACCOUNTS, {"metadata": {"name": name}})
    assert reply.code == 201
    uid: str = reply.body["metadata"]["uid"]
    return uid


async def token_of(server: Guarded, name: str = "sa", **spec: Any) -> str:
    """Have a token issued."""
    reply = await server("admin", "POST", f"{ACCOUNTS}/{name}/token", {"spec": spec})
    assert reply.code == 201, reply.content
    token: str = reply.body["status"]["token"]
    return token


def claims(token: str) -> Any:
    """What a token says."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def key_of(server: Guarded) -> SigningKey:
    """What the server signs with."""
    return server.context.identity.accounts.key


async def works(server: Guarded, token: str) -> bool:
    """Whether a token is taken."""
    reply = await server(token, "POST", WHO, {})
    assert reply.code in (201, 401)
    return reply.code == 201


async def problem(server: Guarded, token: str, **spec: Any) -> str:
    """Why a review does not like a token."""
    reply = await server("admin", "POST", REVIEW, {"spec": {"token": token, **spec}})
    assert reply.code == 201
    assert "authenticated" not in reply.body["status"]
    text: str = reply.body["status"]["error"]
    return text


async def test_a_token_claims_what_the_originals_do(server: Guarded) -> None:
    uid = await account(server)
    said = claims(await token_of(server, expirationSeconds=600))
    assert said == {
        "aud": ["https://kubernetes.default.svc"],
        "exp": said["iat"] + 600,
        "iat": said["nbf"],
        "iss": "https://kubernetes.default.svc",
        "jti": said["jti"],
        "kubernetes.io": {"namespace": "default", "serviceaccount": {"name": "sa", "uid": uid}},
        "nbf": said["nbf"],
        "sub": "system:serviceaccount:default:sa",
    }


async def test_a_token_is_its_service_account(guarded: Guarded) -> None:
    uid = await account(guarded)
    token = await token_of(guarded)
    reply = await guarded(token, "POST", WHO, {})
    assert reply.body["status"]["userInfo"] == {
        "username": "system:serviceaccount:default:sa",
        "uid": uid,
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": [f"JTI={claims(token)['jti']}"]},
    }


async def test_a_token_ends_with_its_account_though_another_of_the_name_comes(guarded: Guarded) -> None:
    await account(guarded)
    token = await token_of(guarded)
    assert await works(guarded, token)
    await guarded("admin", "DELETE", f"{ACCOUNTS}/sa")
    assert not await works(guarded, token)
    assert await problem(guarded, token) == '[invalid bearer token, serviceaccounts "sa" not found]'
    await account(guarded)
    assert not await works(guarded, token)
    assert "does not match claim" in await problem(guarded, token)


async def test_a_token_ends_with_what_it_is_bound_to(server: Guarded) -> None:
    await account(server)
    secret = await server("admin", "POST", f"{CORE}/secrets", {"metadata": {"name": "s"}})
    reference = {"kind": "Secret", "apiVersion": "v1", "name": "s"}
    token = await token_of(server, boundObjectRef=reference)
    assert claims(token)["kubernetes.io"]["secret"] == {"name": "s", "uid": secret.body["metadata"]["uid"]}
    assert await works(server, token)
    await server("admin", "DELETE", f"{CORE}/secrets/s")
    assert not await works(server, token)
    assert "service account token has been invalidated" in await problem(server, token)


async def test_a_token_of_a_pod_tells_pod_and_node(server: Guarded) -> None:
    await account(server)
    containers = [{"name": "c", "image": "i"}]
    spec = {"containers": containers, "serviceAccountName": "sa", "nodeName": "n1"}
    pod = await server("admin", "POST", f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": spec})
    assert pod.code == 201, pod.content
    uid = pod.body["metadata"]["uid"]
    token = await token_of(
        server, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": uid}
    )
    extra = (await server(token, "POST", WHO, {})).body["status"]["userInfo"]["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]
    assert extra["authentication.kubernetes.io/pod-uid"] == [uid]
    assert extra["authentication.kubernetes.io/node-name"] == ["n1"]


@pytest.mark.parametrize(
    ("reference", "code", "text"),
    [
        ({"kind": "Secret", "apiVersion": "v1", "name": "none"}, 404, 'secrets "none" not found'),
        ({"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}, 400, "cannot bind token to object of type"),
        ({"kind": "Pod", "apiVersion": "apps/v1", "name": "x"}, 400, "cannot bind token to object of type"),
        (
            {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": "u"},
            409,
            "Operation cannot be fulfilled",
        ),
    ],
)
async def test_a_token_cannot_be_bound_to_everything(
    server: Guarded, reference: dict[str, str], code: int, text: str
) -> None:
    await account(server)
    await server("admin", "POST", f"{CORE}/secrets", {"metadata": {"name": "s"}})
    reply = await server("admin", "POST", f"{ACCOUNTS}/sa/token", {"spec": {"boundObjectRef": reference}})
    assert (reply.code, reply.message[: len(text)]) == (code, text)


@pytest.mark.parametrize("lapse_s", [-3600, 3600])
async def test_a_token_is_good_in_its_time_only(server: Guarded, lapse_s: int) -> None:
    await account(server)
    said = claims(await token_of(server))
    moved = {**said, **{name: said[name] + 2 * lapse_s for name in ("iat", "nbf", "exp")}}
    token = key_of(server).sign(moved)
    assert not await works(server, token)
    why = "has expired" if lapse_s < 0 else "is not valid yet"
    assert await problem(server, token) == f"[invalid bearer token, service account token {why}]"


async def test_a_token_for_another_audience_is_not_for_the_server(server: Guarded) -> None:
    await account(server)
    token = await token_of(server, audiences=["vault"])
    assert not await works(server, token)
    assert 'token audiences ["vault"] is invalid' in await problem(server, token)
    spec = {"token": token, "audiences": ["vault", "x"]}
    reply = await server("admin", "POST", REVIEW, {"spec": spec})
    assert reply.body["status"]["authenticated"] is True
    assert reply.body["status"]["audiences"] == ["vault"]


def forged(server: Guarded, good: str) -> dict[str, str]:
    """Tokens that are nearly right."""
    head, body, signature = good.split(".")
    said = claims(good)
    none = encode_base64(json.dumps({"alg": "none"}).encode())
    other = encode_base64(json.dumps({"alg": "HS256", "kid": key_of(server).id}).encode())
    sign = key_of(server).sign
    return {
        "another key": new_signing_key().sign(said),
        "other claims": f"{head}.{encode_base64(json.dumps({**said, 'exp': 1 << 40}).encode())}.{signature}",
        "no algorithm": f"{none}.{body}.",
        "another algorithm": f"{other}.{body}.{signature}",
        "no signature": f"{head}.{body}.",
        "half a signature": f"{head}.{body}.{signature[:40]}",
        "another issuer": sign({**said, "iss": "https://example.com"}),
        "another subject": sign({**said, "sub": "system:serviceaccount:kube-system:sa"}),
        "no times": sign({name: value for name, value in said.items() if name != "exp"}),
        "no account": sign({**said, "kubernetes.io": {"namespace": "default"}}),
        "no text": "a.b.c",
        "no ASCII": "\u00e4.\u00f6.\u00fc",
        "nothing but dots": "..",
    }


async def test_no_forged_token_is_taken(server: Guarded) -> None:
    await account(server)
    good = await token_of(server)
    assert await works(server, good)
    taken = [
        name for name, token in forged(server, good).items() if token.isascii() and await works(server, token)
    ]
    assert taken == []
    for token in forged(server, good).values():
        assert await problem(server, token) == "invalid bearer token"


async def test_replicas_take_each_others_tokens(
    memory: Context, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pki")
    keys = [ensure_signing_key(folder), ensure_signing_key(folder)]
    assert keys[0].id == keys[1].id
    assert (folder / "sa.key").stat().st_mode & 0o777 == 0o600
    async for server in guarded_over(memory, Security(users=USERS, find_key=lambda: keys[0])):
        await account(server)
        assert await works(server, keys[1].sign(claims(await token_of(server))))
