"""What is asked of a host that does not do what hosts do."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from kinepy_server.auth.delegated.admission import HostExtensions
from kinepy_server.auth.delegated.following import PAUSE_FIRST_S, Follower, Listener
from kinepy_server.auth.delegated.host import Host, HostError
from kinepy_server.auth.delegated.host_config import HostConfig
from kinepy_server.auth.delegated.namespaces import Kept
from kinepy_server.auth.delegated.retrying import persistently
from kinepy_server.dynamic_admission.extensions import VALIDATING, Extensions
from kinepy_server.errors import StatusError
from tests.aggregated.clocks import HandClock

Json = Any
PATH = "/apis/reviews"


def answer(code: int, body: Json) -> bytes:
    """A whole answer."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {code} Said\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n"
    return head.encode() + b"connection: close\r\n\r\n" + content


def status(code: int, message: str) -> bytes:
    """A refusal."""
    return answer(code, {"kind": "Status", "code": code, "message": message})


class Scripted:
    """A server that gives one answer after the other, whatever is asked; None is silence."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers, self.targets = list(answers), list[str]()
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one answer."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.targets.append(head.split(b" ")[1].decode())
            self.asked.put_nowait(self.targets[-1])
            said = self.answers.pop(0) if self.answers else None
            if said is None:
                await reader.read()
            else:
                writer.write(said)
                await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def host_of(*answers: bytes | None, timeout_s: float = 5.0) -> AsyncIterator[tuple[Host, Scripted]]:
    """A client of a scripted host."""
    script = Scripted(*answers)
    server = await asyncio.start_server(script.serve, "127.0.0.1")
    script.port = server.sockets[0].getsockname()[1]
    config = HostConfig(url=f"http://127.0.0.1:{script.port}", token="t")
    host = Host(config, clock=HandClock(), timeout_s=timeout_s, requests_max=2)
    try:
        yield host, script
    finally:
        await host.close()
        server.close()


async def asked(host: Host, clock: HandClock) -> Json:
    """What a review comes to."""
    return await persistently(host, PATH, {"kind": "Review"}, clock=clock, random=Random(1))


async def test_what_may_pass_soon_is_asked_again_after_growing_pauses() -> None:
    clock = HandClock()
    async with host_of(status(500, "a"), status(429, "b"), b"", answer(201, {"kind": "Review"})) as (host, _):
        assert await asked(host, clock) == {"kind": "Review"}
    pauses = [0.5, 0.75, 1.125]
    assert all(least <= slept <= 1.2 * least for least, slept in zip(pauses, clock.slept, strict=True))


async def test_after_five_failures_it_is_given_up() -> None:
    async with host_of(*[status(503, f"down {n}") for n in range(6)]) as (host, script):
        with pytest.raises(HostError, match=r"^down 4$"):
            await asked(host, HandClock())
    assert script.targets == [f"{PATH}?timeout=5s"] * 5


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (status(403, "reviews is forbidden"), "reviews is forbidden"),
        (answer(404, b"404 page not found"), "the server could not find the requested resource"),
        (
            answer(200, b"<html>"),
            'an error on the server ("<html>") has prevented the request from succeeding',
        ),
        (answer(200, [1]), 'an error on the server ("[1]") has prevented the request from succeeding'),
    ],
)
async def test_an_answer_of_no_use_is_told_at_once(said: bytes, text: str) -> None:
    async with host_of(said) as (host, script):
        with pytest.raises(HostError) as caught:
            await asked(host, HandClock())
    assert (str(caught.value), len(script.targets)) == (text, 1)


async def test_silence_ends_in_time() -> None:
    async with host_of(None, timeout_s=0.05) as (host, script):
        with pytest.raises(HostError) as caught:
            await host.get("/x")
    assert str(caught.value) == f'Get "http://127.0.0.1:{script.port}/x": context deadline exceeded'


async def test_no_more_are_asked_at_once_than_may_be() -> None:
    async with host_of(timeout_s=60) as (host, script):
        asking = [asyncio.create_task(host.get("/x")) for _ in range(6)]
        for first in (0, 2, 4):
            async with asyncio.timeout(20):
                for _ in range(2):
                    await script.asked.get()
            assert len(script.targets) == first + 2
            for task in asking[first : first + 2]:
                task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)


def listed(*names: str, version: str) -> bytes:
    """A list."""
    items = [{"metadata": {"name": name}} for name in names]
    return answer(200, {"items": items, "metadata": {"resourceVersion": version}})


def watched(*events: Json) -> bytes:
    """A watch that ends after these events."""
    return answer(200, b"".join(json.dumps(event).encode() + b"\n" for event in events))


def event(kind: str, name: str, version: str) -> Json:
    """A change of an object."""
    return {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": version}}}


async def followed(*answers: bytes | None, until: Callable[[list[str]], bool]) -> tuple[list[str], list[str]]:
    """What a listener hears of a host, and what the host was asked."""
    heard: list[str] = []
    done = asyncio.Event()

    def hear(text: str) -> None:
        heard.append(text)
        if until(heard):
            done.set()

    async with host_of(*answers) as (host, script):
        listener = Listener(
            state=lambda found: hear("=" + ",".join(one["metadata"]["name"] for one in found)),
            changed=lambda obj: hear("+" + obj["metadata"]["name"]),
            gone=lambda obj: hear("-" + obj["metadata"]["name"]),
        )
        follower = Follower(host, "/things", listener)
        await follower.read()
        running = asyncio.create_task(follower.run(clock=HandClock(), random=Random(1)))
        async with asyncio.timeout(20):
            await done.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return heard, script.targets


async def test_a_follower_goes_on_where_its_watch_ended() -> None:
    heard, targets = await followed(
        listed("a", version="5"),
        watched(event("ADDED", "b", "6"), event("BOOKMARK", "", "9"), event("DELETED", "a", "10")),
        b"",
        watched(event("MODIFIED", "b", "11")),
        until=lambda heard: heard[-1] == "+b" and len(heard) > 2,
    )
    assert heard == ["=a", "+b", "-a", "+b"]
    versions = [target.partition("resourceVersion=")[2].partition("&")[0] for target in targets]
    assert versions[:4] == ["", "5", "10", "10"]


@pytest.mark.parametrize(
    "refusal",
    [
        watched({"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}}),
        status(410, "too old resource version"),
        status(504, "Too large resource version"),
    ],
)
async def test_a_follower_lists_anew_when_its_version_is_refused(refusal: bytes) -> None:
    heard, _ = await followed(
        listed("a", version="5"),
        refusal,
        listed("b", version="2"),
        until=lambda heard: len(heard) == 2,
    )
    assert heard == ["=a", "=b"]


async def test_a_follower_bears_what_is_no_event() -> None:
    garbage = [b"nonsense", b"{}", b'{"type":"ADDED","object":null}', b"[]"]
    heard, _ = await followed(
        listed("a", version="5"),
        *(answer(200, one + b"\n") for one in garbage),
        watched(event("ADDED", "b", "6")),
        until=lambda heard: heard[-1] == "+b",
    )
    assert heard == ["=a", "+b"]


async def test_a_follower_bears_objects_without_names() -> None:
    heard, _ = await followed(
        listed("a", version="5"),
        watched({"type": "ADDED", "object": {"metadata": {"resourceVersion": "6"}}}),
        watched({"type": ["ADDED"], "object": {"metadata": {"resourceVersion": "6", "name": 5}}}),
        status(410, "too old resource version"),
        answer(200, {"items": [{"metadata": {}}], "metadata": {"resourceVersion": "7"}}),
        answer(200, {"items": {"a": 1}}),
        answer(200, {"items": [], "metadata": [1]}),
        listed("b", version="8"),
        until=lambda heard: heard[-1] == "=b",
    )
    assert heard[0] == "=a"
    assert heard[-1] == "=b"


async def test_a_host_that_ends_every_watch_at_once_is_asked_after_growing_pauses() -> None:
    clock = HandClock()
    async with host_of(listed("a", version="5"), *[watched()] * 3, None) as (host, script):
        follower = Follower(host, "/things", Listener(lambda _: None, lambda _: None, lambda _: None))
        await follower.read()
        running = asyncio.create_task(follower.run(clock=clock, random=Random(1)))
        async with asyncio.timeout(20):
            targets = [await script.asked.get() for _ in range(5)]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert len(clock.slept) == 3
    assert clock.slept[0] >= PAUSE_FIRST_S
    assert clock.slept == sorted(clock.slept)
    assert all("resourceVersion=5" in target for target in targets[1:])


async def test_a_long_list_is_read_in_pages() -> None:
    first = answer(200, {"items": [{"metadata": {"name": "a"}}], "metadata": {"continue": "more"}})
    heard, targets = await followed(first, listed("b", version="5"), until=bool)
    assert heard == ["=a,b"]
    assert targets[1].endswith("limit=500&continue=more")


async def test_a_namespace_that_nobody_has_told_of_yet_is_asked_for() -> None:
    new = answer(200, {"metadata": {"name": "new", "labels": {"a": "b"}}})
    async with host_of(new, status(404, "not found"), status(403, "forbidden")) as (host, _):
        kept = Kept(host, clock=HandClock())
        found = await kept.namespace("new")
        assert found is not None
        assert found["metadata"]["labels"] == {"a": "b"}
        assert await kept.namespace("gone") is None
        with pytest.raises(StatusError, match="forbidden"):
            await kept.namespace("hidden")


def test_what_the_host_tells_again_is_not_compiled_again() -> None:
    extensions = Extensions()
    follower = HostExtensions(extensions)
    listener = follower.listener(VALIDATING)

    def webhook(name: str, url: str) -> Json:
        return {"metadata": {"name": name}, "webhooks": [{"name": "w", "clientConfig": {"url": url}}]}

    listener.state([webhook("a", "https://a/"), webhook("b", "https://b/")])
    assert extensions.configuration is not None
    before = extensions.configuration.validating
    listener.changed(webhook("b", "https://other/"))
    after = extensions.configuration.validating
    assert [one.url for one in after] == ["https://a/", "https://other/"]
    assert (after[0] is before[0], after[1] is before[1]) == (True, False)
    listener.gone(webhook("a", ""))
    listener.state([])
    assert extensions.configuration is None
