"""Webhooks that misbehave: the write gets the original's words in time, and others go on."""

import asyncio
import gzip
import time
from typing import Any

import orjson
import pytest

from kinepy_server.dynamic_admission.client import CallFailed, Clients
from kinepy_server.dynamic_admission.endpoint import endpoint_of
from kinepy_server.dynamic_admission.review_checks import problem_of
from tests.admission.bad_hooks import Behave, bad_server, drip, endless, hang, saying
from tests.admission.hooks import allow, hook_server
from tests.admission.objects import Json, put_in_force, webhook, webhooks
from tests.http.writing import CONFIGMAPS, Api, configmap

FAILED = 'Internal error occurred: failed calling webhook "w.example.com": '
READING = (
    "failed to call webhook: unexpected error when reading response body. Please retry. Original error: "
)
OK = b"HTTP/1.1 200 OK\r\n"
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}


def sized(body: bytes, more: bytes = b"") -> bytes:
    """An answer with a length."""
    return OK + more + b"content-length: %d\r\n\r\n%b" % (len(body), body)


async def refusal(api: Api, behave: Behave, *, tls: bool = True, **more: Any) -> tuple[int, str]:
    """What a write is answered whose webhook behaves so."""
    async with bad_server(behave, tls=tls) as url:
        hook = webhook(url, **more)
        await put_in_force(api, webhooks("Mutating", hook))
        reply = await api.post(CONFIGMAPS, configmap())
        assert reply.message.startswith(FAILED), reply.message
        return reply.code, reply.message.removeprefix(FAILED).replace(url, "URL")


@pytest.mark.parametrize(
    ("behave", "why"),
    [
        (hang, 'failed to call webhook: Post "URL?timeout=1s": context deadline exceeded'),
        (drip, f"{READING}context deadline exceeded"),
        (endless, "failed to call webhook: the answer is larger than 3145728 bytes"),
        (saying(b""), 'failed to call webhook: Post "URL?timeout=1s": EOF'),
        (saying(OK + b"content-length: 100\r\n\r\n{"), f"{READING}unexpected EOF"),
        (
            saying(sized(b"garbage")),
            "failed to call webhook: couldn't get version/kind; json parse error: invalid character 'g' looking for"
            " beginning of value",
        ),
        (
            saying(sized(b"", b"content-type: text/plain\r\n")),
            "failed to call webhook: 0-length response with status code: 200 and content type: text/plain",
        ),
        (saying(sized(b"{}")), "received invalid webhook response: webhook response was absent"),
        (
            saying(sized(b'{"response": {"uid": 1}}')),
            "failed to call webhook: json: cannot unmarshal number into Go struct field"
            " AdmissionResponse.response.uid of type types.UID",
        ),
        (
            saying(sized(gzip.compress(b" " * 50_000_000), b"content-encoding: gzip\r\n")),
            "failed to call webhook: the answer is larger than 3145728 bytes",
        ),
        (saying(sized(b"not gzip", b"content-encoding: gzip\r\n")), f"{READING}gzip: invalid header"),
        (
            saying(b"HTTP/1.1 302 Found\r\nlocation: https://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"),
            "failed to call webhook: the server responded with the status code 302 but did not return more"
            " information",
        ),
        (
            saying(b"HTTP/1.1 500 Oops\r\ncontent-length: 4\r\n\r\nno\"\n"),
            'failed to call webhook: an error on the server ("no\\"") has prevented the request from succeeding',
        ),
        (
            saying(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
            "failed to call webhook: the server could not find the requested resource",
        ),
    ],
)  # fmt: skip
async def test_what_goes_wrong_is_told(api: Api, behave: Behave, why: str) -> None:
    began = time.monotonic()
    assert await refusal(api, behave) == (500, why)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("review", "why"),
    [
        ({}, "webhook response was absent"),
        ({"response": {"uid": 'a"b'}}, r'expected response.uid="u", got "a\"b"'),
        ({"response": {"uid": "u"}}, "got /, Kind="),
        ({"apiVersion": "v1", "kind": "List", "response": {"uid": "u"}}, "got /v1, Kind=List"),
        ({"apiVersion": "a.io/v1", "response": {"uid": "u"}}, "got a.io/v1, Kind="),
        (
            {**REVIEW, "response": {"uid": "u", "patch": "W10=", "patchType": 'X"'}},
            r'unsupported patch type "X\""',
        ),
    ],
)
def test_what_is_wrong_with_a_review_is_told(review: Json, why: str) -> None:
    assert problem_of(review, "u", mutating=True).endswith(why)


@pytest.mark.parametrize(
    ("client", "why"),
    [
        ({"url": f"https://{'a' * 64}.example.com/"}, f"lookup {'a' * 64}.example.com: no such host"),
        ({"url": "https://xn--a/"}, "lookup xn--a: no such host"),
        ({"url": "https://[::1/"}, "Invalid IPv6 URL"),
        ({"url": "https://x:abc/"}, "Invalid port: 'abc'"),
        ({"service": {"name": "a]", "namespace": "["}}, "could not get REST client: "),
    ],
)
async def test_an_address_that_is_none_is_a_failed_call(client: Json, why: str) -> None:
    clients = Clients()
    with pytest.raises(CallFailed) as failed:
        await clients.post(endpoint_of(client, timeout_s=5), b"{}")
    assert why in str(failed.value)
    await clients.close()


async def test_a_certificate_of_somebody_else_is_not_trusted(api: Api) -> None:
    async with hook_server(allow) as hooks:
        hook = webhook(hooks.url)
        del hook["clientConfig"]["caBundle"]
        await put_in_force(api, webhooks("Mutating", hook))
        reply = await api.post(CONFIGMAPS, configmap())
    why = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    assert reply.message.endswith(f'Post "{hooks.url}?timeout=1s": {why}') and not hooks.requests


async def test_certificates_that_are_none_are_told(api: Api) -> None:
    async with hook_server(allow) as hooks:
        hook = webhook(hooks.url)
        hook["clientConfig"]["caBundle"] = "bm9wZQ=="
        await put_in_force(api, webhooks("Validating", hook))
        reply = await api.post(CONFIGMAPS, configmap())
    why = "unable to load root certificates: unable to parse bytes as PEM block"
    assert reply.message == f"{FAILED}could not get REST client: {why}"
    assert not hooks.requests


async def test_a_server_without_tls_is_not_talked_to(api: Api) -> None:
    code, why = await refusal(api, saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), tls=False)
    assert (code, why) == (
        500,
        'failed to call webhook: Post "URL?timeout=1s": http: server gave HTTP response to HTTPS client',
    )


async def test_a_small_compressed_answer_of_an_old_server_is_understood(api: Api) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        review = {"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}
        body = gzip.compress(orjson.dumps({**review, "response": {"uid": "?", "allowed": True}}))
        writer.write(b"HTTP/1.0 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + body)
        await writer.drain()

    async with bad_server(answer) as url:
        await put_in_force(api, webhooks("Mutating", webhook(url, admissionReviewVersions=["v1beta1"])))
        assert (await api.post(CONFIGMAPS, configmap())).code == 201


@pytest.mark.parametrize("behave", [hang, drip])
async def test_others_go_on_while_many_wait_for_a_webhook(api: Api, behave: Behave) -> None:
    """Also those that ask another webhook with the same certificates."""
    secrets: Json = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}
    secret: Json = {"apiVersion": "v1", "kind": "Secret", "metadata": {}}
    path = "/api/v1/namespaces/default/secrets"
    async with bad_server(behave) as url, hook_server(allow) as good:
        bad = webhook(url, timeoutSeconds=3)
        fine = webhook(good.url, name="good.example.com", rules=[secrets], timeoutSeconds=10)
        await put_in_force(api, webhooks("Mutating", bad), webhooks("Validating", fine))
        waiting = [asyncio.create_task(api.post(CONFIGMAPS, configmap(f"w{i}"))) for i in range(100)]
        began, served = time.monotonic(), 0
        while not any(task.done() for task in waiting):
            body = {**secret, "metadata": {"name": f"s{served}"}}
            assert (await api.post(path, body)).code == 201
            served += 1
        assert time.monotonic() - began > 2 and served > 5
        replies = await asyncio.gather(*waiting)
    assert {reply.code for reply in replies} == {500}
    assert all("context deadline exceeded" in reply.message for reply in replies)
