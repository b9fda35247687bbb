"""Requests for a group version that a backend serves go there, in the name of who sent them, and nothing else does."""

import base64
from typing import Any

import pytest

from kinepy_server.auth.front_proxy import new_front_proxy
from kinepy_server.context import Context
from tests.aggregation.aggregating import (
    API_SERVICES_PATH,
    OWN,
    SERVICES,
    aggregate,
    available,
    found_again,
    when,
)
from tests.aggregation.backend import (
    FLUNDERS,
    NAME,
    ROOT,
    Asked,
    Backend,
    api_service,
    backend_tls,
    flunder,
    pki,
    running_backend,
    service,
)
from tests.http.writing import MERGE, Api

UNAVAILABLE = b"service unavailable\n"


async def test_every_verb_arrives_as_it_was_sent(memory_api: Api, memory: Context, flunders: Backend) -> None:
    await aggregate(memory, memory_api, flunders)
    made = await memory_api.post(f"{FLUNDERS}?fieldManager=t&dryRun=All", flunder("a"))
    assert (made.code, made.body["metadata"]["resourceVersion"]) == (201, "7")
    assert [one["metadata"]["name"] for one in (await memory_api.get(FLUNDERS)).body["items"]] == ["a"]
    assert (await memory_api.get(f"{FLUNDERS}/a")).body["metadata"]["uid"] == "u"
    missing = await memory_api.get(f"{FLUNDERS}/b")
    assert (missing.code, missing.body["reason"]) == (404, "NotFound")
    assert (await memory_api.patch(f"{FLUNDERS}/a/status", {"status": {}}, content_type=MERGE)).code == 404
    assert (await memory_api.delete(f"{FLUNDERS}/a", {"gracePeriodSeconds": 0})).code == 200
    assert [(one.method, one.target) for one in flunders.asked] == [
        # The query in the order of its names, as the original writes it.
        ("POST", f"{FLUNDERS}?dryRun=All&fieldManager=t"),
        ("GET", FLUNDERS),
        ("GET", f"{FLUNDERS}/a"),
        ("GET", f"{FLUNDERS}/b"),
        ("PATCH", f"{FLUNDERS}/a/status"),
        ("DELETE", f"{FLUNDERS}/a"),
    ]
    assert flunders.asked[4].header("content-type") == [MERGE]
    assert flunders.asked[5].body == b'{"gracePeriodSeconds":0}'


async def test_the_backend_is_told_who_asks_and_nothing_that_a_client_says_of_it(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    await aggregate(memory, memory_api, flunders)
    lies = {"x-remote-user": "root", "x-remote-group": "g", "x-remote-uid": "1", "x-remote-extra-a": "b"}
    await memory_api.get(
        FLUNDERS, headers={**lies, "authorization": "Bearer secret", "connection": "x-hop", "x-hop": "1"}
    )
    asked = flunders.asked[0]
    assert asked.header("x-remote-user") == ["admin"]
    assert asked.header("x-remote-group") == ["system:masters", "system:authenticated"]
    told = {name for name, _ in asked.headers}
    assert not told & {"authorization", "connection", "x-hop", "x-remote-uid", "x-remote-extra-a"}
    assert asked.header("x-forwarded-uri") == [FLUNDERS]
    assert asked.header("x-forwarded-host") == [f"127.0.0.1:{flunders.port}"]
    assert asked.header("x-forwarded-proto") == ["https"]


async def test_the_user_to_act_as_is_the_one_that_is_told(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    await aggregate(memory, memory_api, flunders)
    acting = {"user": "jane", "group": "dev", "uid": "u-1", "extra-acme.com%2Fproject": "a b"}
    await memory_api.get(FLUNDERS, headers={f"impersonate-{name}": value for name, value in acting.items()})
    asked = flunders.asked[0]
    assert asked.header("x-remote-user") == ["jane"]
    assert asked.header("x-remote-group") == ["dev", "system:authenticated"]
    assert asked.header("x-remote-uid") == ["u-1"]
    assert asked.header("x-remote-extra-acme.com%2fproject") == ["a b"]
    assert not [name for name, _ in asked.headers if name.startswith("impersonate-")]


async def test_the_front_proxy_shows_its_certificate(memory_api: Api, memory: Context) -> None:
    proxy = new_front_proxy()
    memory.aggregation.identity.find = lambda: proxy
    async with running_backend(backend_tls(clients_of=proxy.ca)) as flunders:
        await aggregate(memory, memory_api, flunders)
        await memory_api.get(FLUNDERS)
        assert flunders.asked[0].certificate is not None


async def test_a_renewed_certificate_is_shown_by_the_next_request(memory_api: Api, memory: Context) -> None:
    proxy, other = new_front_proxy(), new_front_proxy()
    identity = memory.aggregation.identity
    identity.find, identity.look_every_s = (lambda: proxy), 0.0
    async with running_backend(backend_tls(clients_of=proxy.ca)) as flunders:
        await aggregate(memory, memory_api, flunders)
        assert (await memory_api.get(FLUNDERS)).code == 200
        identity.find = lambda: other
        await identity.front_proxy()
        assert await found_again(identity) is other
        assert (await memory_api.get(FLUNDERS)).code == 503


async def test_a_backend_that_wants_another_certificate_is_not_reached(
    memory_api: Api, memory: Context
) -> None:
    async with running_backend(backend_tls(clients_of=new_front_proxy().ca)) as flunders:
        await memory_api.post(SERVICES, service())
        await memory_api.post(API_SERVICES_PATH, api_service(flunders.port))
        await available(memory, memory_api, "FailedDiscoveryCheck")
        assert (await memory_api.get(FLUNDERS)).content == UNAVAILABLE
        await memory_api.delete(OWN)


UNKNOWN = b"error trying to reach service: tls: failed to verify certificate: x509: certificate "


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {"caBundle": base64.b64encode(pki("other").ca.read_bytes()).decode()},
            b"signed by unknown authority\n",
        ),
        ({"caBundle": None}, b"signed by unknown authority\n"),
    ],
    ids=["another authority", "no authority"],
)
async def test_a_backend_that_is_not_trusted_is_not_asked(
    memory_api: Api, memory: Context, flunders: Backend, spec: Any, text: bytes
) -> None:
    await aggregate(memory, memory_api, flunders, **spec)
    reply = await memory_api.get(FLUNDERS)
    assert (reply.code, reply.content) == (503, UNKNOWN + text)
    assert reply.header("content-type") == ["text/plain; charset=utf-8"]
    assert flunders.asked == []


async def test_a_certificate_for_another_name_is_not_taken(memory_api: Api, memory: Context) -> None:
    async with running_backend(backend_tls(name="other")) as flunders:
        await aggregate(
            memory, memory_api, flunders, caBundle=base64.b64encode(pki("other").ca.read_bytes()).decode()
        )
        reply = await memory_api.get(FLUNDERS)
    wanted = f"is not valid for any names, but wanted to match {NAME}.default.svc\n"
    assert (reply.code, reply.content) == (503, UNKNOWN + wanted.encode())


async def test_whoever_is_not_looked_at_may_be_anybody(memory_api: Api, memory: Context) -> None:
    async with running_backend(backend_tls(name="other")) as flunders:
        await aggregate(memory, memory_api, flunders, caBundle=None, insecureSkipTLSVerify=True)
        assert (await memory_api.get(FLUNDERS)).code == 200


async def test_what_is_no_certificate_is_told(memory_api: Api, memory: Context, flunders: Backend) -> None:
    await aggregate(memory, memory_api, flunders, caBundle=base64.b64encode(b"nonsense").decode())
    reply = await memory_api.get(FLUNDERS)
    text = b"unable to load root certificates: unable to parse bytes as PEM block\n"
    assert (reply.code, reply.content) == (500, text)


async def test_one_that_is_down_is_told_and_is_found_again(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    await aggregate(memory, memory_api, flunders)
    await flunders.stop()
    reply = await memory_api.get(FLUNDERS)
    dial = f"dial tcp 127.0.0.1:{flunders.port}: connect: connection refused"
    assert (reply.code, reply.content) == (503, f"error trying to reach service: {dial}\n".encode())
    await flunders.start(backend_tls())
    assert (await memory_api.get(FLUNDERS)).code == 200


async def test_a_connection_that_the_backend_has_closed_does_no_harm(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    await aggregate(memory, memory_api, flunders)
    for _ in range(5):
        assert (await memory_api.get(FLUNDERS)).code == 200
        await flunders.stop()
        await flunders.start(backend_tls())


async def garbage(asked: Asked) -> None:
    asked.writer.write(b"\x00\xff nonsense\r\n\r\n")
    await asked.writer.drain()


async def silence(asked: Asked) -> None:
    asked.writer.close()


async def endless_head(asked: Asked) -> None:
    asked.writer.write(b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 200_000)
    await asked.writer.drain()


async def short_body(asked: Asked) -> None:
    asked.writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc")
    await asked.writer.drain()
    asked.writer.close()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (garbage, b"malformed HTTP response"),
        (silence, b"EOF\n"),
        (endless_head, b""),
        (short_body, b"unexpected EOF\n"),
    ],
)
async def test_nonsense_is_told_as_503(
    memory_api: Api, memory: Context, flunders: Backend, answer: Any, text: bytes
) -> None:
    await aggregate(memory, memory_api, flunders)
    flunders.answer = answer
    reply = await memory_api.get(FLUNDERS)
    assert reply.code == 503
    assert reply.content.startswith(b"error trying to reach service: ")
    assert text in reply.content
    flunders.answer = None
    assert (await memory_api.get(FLUNDERS)).code == 200
    assert (await memory_api.get("/api/v1/namespaces/default")).code == 200


async def test_redirects_are_not_followed_and_not_passed_on(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    async def elsewhere(asked: Asked) -> None:
        await asked.answer(302, b"", location="https://example.com/")

    await aggregate(memory, memory_api, flunders)
    flunders.answer = elsewhere
    reply = await memory_api.get(FLUNDERS)
    assert reply.code == 502
    assert reply.content == b"the backend attempted to redirect this request, which is not permitted"
    assert reply.header("location") == []


async def test_answers_come_as_they_are(memory_api: Api, memory: Context, flunders: Backend) -> None:
    async def odd(asked: Asked) -> None:
        headers = {
            "warning": '299 - "old"',
            "access_control_allow_origin": "*",
            "retry_after": "9",
            "x_own": "1",
        }
        await asked.answer(429, b"{ }", content_type="application/vnd.odd", **headers)

    await aggregate(memory, memory_api, flunders)
    flunders.answer = odd
    reply = await memory_api.get(FLUNDERS)
    assert (reply.code, reply.content) == (429, b"{ }")
    assert reply.header("content-type") == ["application/vnd.odd"]
    assert reply.header("warning") == ['299 - "old"']
    assert (reply.header("retry-after"), reply.header("x-own")) == (["9"], ["1"])
    assert reply.header("access-control-allow-origin") == []


async def test_without_its_apiservice_nothing_is_proxied(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    assert (await memory_api.get(FLUNDERS)).code == 404
    await aggregate(memory, memory_api, flunders)
    assert (await memory_api.get(ROOT)).body["resources"][0]["name"] == "flunders"
    assert (await memory_api.get(ROOT.replace("v1alpha1", "v2"))).content == b"404 page not found\n"
    await memory_api.delete(OWN)
    gone = await when(memory, memory_api, FLUNDERS, lambda reply: reply.code == 404)
    assert gone.content == b"404 page not found\n"


async def test_a_built_in_group_version_may_be_given_to_a_backend(
    memory_api: Api, memory: Context, flunders: Backend
) -> None:
    made = api_service(flunders.port, group="batch", version="v1")
    await memory_api.post(SERVICES, service())
    path = f"{API_SERVICES_PATH}/v1.batch"
    assert (await memory_api.patch(path, {"spec": made["spec"]}, content_type=MERGE)).code == 200
    reply = await when(memory, memory_api, "/apis/batch/v1/jobs", lambda reply: reply.code != 200)
    assert reply.content in (UNAVAILABLE, b"404 page not found\n")
    assert (await memory_api.get("/apis/apps/v1/deployments")).code == 200
