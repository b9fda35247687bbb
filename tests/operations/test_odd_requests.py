"""Requests as no client sends them: what was meant is served as the original serves it, what is unclear is refused."""

import json
import socket
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.processes import configmaps

MAPS = "/api/v1/namespaces/default/configmaps"
NO_PAGE = "404 page not found\n"
NO_RESOURCE = "the server could not find the requested resource"
NEXT = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
"""What a smuggler would like to be taken for a request of its own."""


class Server:
    """What these tests need of the plugin's fixture."""

    url: str


@dataclass(frozen=True)
class Answer:
    """One answer on a plain connection."""

    code: int
    head: bytes
    body: bytes

    @property
    def text(self) -> str:
        """The message of a Status, or the text."""
        text = self.body.decode()
        return str(json.loads(text)["message"]) if text.startswith('{"kind":"Status"') else text


def answers(url: str, request: bytes) -> list[Answer]:
    """All answers to what is sent on one connection, up to its end."""
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port or 80), timeout=20) as connection:
        connection.sendall(request)
        data = b""
        try:
            while part := connection.recv(65536):
                data += part
        except ConnectionResetError:
            pass  # it did not read what was still on its way
    return list(split(data))


def split(data: bytes) -> Any:
    """The answers in what was received."""
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        size = int(fields[b"content-length"]) if b"content-length" in fields else len(rest)
        yield Answer(int(head.split(b" ", 2)[1]), head, rest[:size])
        data = rest[size:]


def get(url: str, target: str) -> Answer:
    (answer,) = answers(
        url, f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode("latin-1")
    )
    return answer


ADDRESSES = {
    f"{MAPS}/a%00b": (404, 'configmaps "a\\x00b" not found'),
    f"{MAPS}/a%0Ab": (404, 'configmaps "a\\nb" not found'),
    f"{MAPS}/%ff": (404, 'configmaps "\ufffd" not found'),
    f"{MAPS}/%c0%ae%c0%ae": (404, 'configmaps "\ufffd\ufffd\ufffd\ufffd" not found'),
    f"{MAPS}/..": (400, "Name parameter invalid: \"..\": may not be '..'"),
    f"{MAPS}/%2e%2E": (400, "Name parameter invalid: \"..\": may not be '..'"),
    f"{MAPS}/a%25b": (400, "Name parameter invalid: \"a%b\": may not contain '%'"),
    f"{MAPS}/a;b=1": (404, 'configmaps "a;b=1" not found'),
    f"{MAPS}/a+b": (404, 'configmaps "a+b" not found'),
    f"{MAPS}/%zz": (400, "400 Bad Request"),
    f"{MAPS}/%2": (400, "400 Bad Request"),
    "//api/v1/namespaces": (404, NO_PAGE),
    "/api//v1/namespaces": (404, NO_RESOURCE),
    "/api/v1//namespaces": (404, NO_RESOURCE),
    "/api/v1/namespaces//configmaps": (404, NO_RESOURCE),
    "/api/v1/../v1/namespaces": (404, NO_RESOURCE),
    "/./version": (404, NO_PAGE),
    "/version/../version": (404, NO_PAGE),
    "/%2e%2e/etc/passwd": (404, NO_PAGE),
    "/API/v1/namespaces": (404, NO_PAGE),
}


@pytest.mark.parametrize("target", ADDRESSES)
def test_an_odd_address_is_answered_as_the_original_does(kinepy_server: Server, target: str) -> None:
    answer = get(kinepy_server.url, target)
    assert (answer.code, answer.text) == ADDRESSES[target]


@pytest.mark.parametrize(
    "target",
    [
        "/api/v1/namespaces/",
        "/api/v1/namespaces%2fdefault",
        "/%61pi/v1/namespaces/default",
        "http://elsewhere/api/v1/namespaces/default",
        "/api/v1/namespaces?limit=1;x=2&labelSelector=%zz",
        "/api/v1/namespaces/default?" + "x" * 60_000,
        "/api/v1/namespaces?labelSelector=" + "!a," * 100_000 + "!b",
    ],
    ids=lambda target: str(target)[:60],
)
def test_what_an_odd_address_means_is_served(kinepy_server: Server, target: str) -> None:
    answer = get(kinepy_server.url, target)
    assert answer.code == 200
    assert json.loads(answer.body)["kind"] in ("Namespace", "NamespaceList")


def test_a_namespace_that_no_namespace_can_be_holds_nothing(kinepy_server: Server) -> None:
    answer = get(kinepy_server.url, "/api/v1/namespaces/%00%ff/configmaps")
    assert (answer.code, json.loads(answer.body)["items"]) == (200, [])


def test_an_address_of_more_than_a_mib_is_refused(kinepy_server: Server) -> None:
    address = httpx.URL(kinepy_server.url)
    with socket.create_connection((address.host, address.port or 80), timeout=20) as connection:
        try:
            connection.sendall(b"GET /version?" + b"x" * 1_100_000)
            head = connection.recv(65536)
        except ConnectionError:
            return  # closed before all of it was sent, and its answer with it
    assert head.startswith(b"HTTP/1.1 431 ")


# --- whose bytes are whose

BODY = b'{"metadata":{"name":"smuggled"}}'
POST = b"POST " + configmaps().encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
SIZE = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)


def chunk(size: bytes, end: bytes = b"\r\n") -> bytes:
    """A chunked body with this line before its bytes."""
    return POST + CHUNKED + b"\r\n" + size + b"\r\n" + BODY + end + b"0\r\n\r\n"


UNCLEAR = {
    "a length and chunks": POST + SIZE + CHUNKED + b"\r\n" + CHUNKS,
    "chunks and a length": POST + CHUNKED + SIZE + b"\r\n" + CHUNKS,
    "two lengths": POST + SIZE + b"Content-Length: 1\r\n\r\n" + BODY,
    "a list of lengths": POST + b"Content-Length: %d, 1\r\n\r\n" % len(BODY) + BODY,
    "a signed length": POST + b"Content-Length: +%d\r\n\r\n" % len(BODY) + BODY,
    "a negative length": POST + b"Content-Length: -1\r\n\r\n" + BODY,
    "a length in hexadecimal": POST + b"Content-Length: 0x20\r\n\r\n" + BODY,
    "a length beyond 64 bits": POST + b"Content-Length: 18446744073709551648\r\n\r\n" + BODY,
    "an empty length": POST + b"Content-Length: \r\n\r\n" + BODY,
    "an encoding after chunks": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKS,
    "another encoding": POST + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "an encoding with a control character": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + CHUNKS,
    "a space before the colon": POST + b"Content-Length : %d\r\n\r\n" % len(BODY) + BODY,
    "a space in a name": POST + b"X y: 1\r\n" + SIZE + b"\r\n" + BODY,
    "a NUL in a value": POST + b"X: a\x00b\r\n" + SIZE + b"\r\n" + BODY,
    "a bare CR in a value": POST + b"X: a\rContent-Length: 1\r\n" + SIZE + b"\r\n" + BODY,
    "a line without a colon": POST + b"X\r\n" + SIZE + b"\r\n" + BODY,
    "a chunk's size with a prefix": chunk(b"0x20"),
    "a negative chunk": chunk(b"-20"),
    "a chunk of more than 64 bits": chunk(b"10000000000000020"),
    "a chunk's size after spaces": chunk(b"  20"),
    "a chunk without its end": chunk(b"20", end=b""),
    "a chunk longer than its size": chunk(b"1f"),
    "a length in a trailer": POST + CHUNKED + b"\r\n" + CHUNKS[:-2] + b"Content-Length: 1\r\n\r\n",
    "no version": b"POST /api/v1/namespaces\r\nHost: x\r\n" + SIZE + b"\r\n" + BODY,
}


@pytest.mark.parametrize("request_", UNCLEAR.values(), ids=UNCLEAR.keys())
def test_a_request_of_unclear_length_is_refused_and_nothing_behind_it_is_served(
    kinepy_server: Server, request_: bytes
) -> None:
    (answer,) = answers(kinepy_server.url, request_ + NEXT)
    assert (answer.code, answer.body) == (400, b"400 Bad Request")
    assert answer.head.splitlines()[1:] == [b"Content-Type: text/plain; charset=utf-8", b"Connection: close"]
    assert httpx.get(f"{kinepy_server.url}{MAPS}/smuggled", trust_env=False).status_code == 404


CLEAR = {
    "a chunk with an extension": chunk(b"20;a=b"),
    "a trailer": POST + CHUNKED + b"\r\n" + CHUNKS[:-2] + b"X-Trailer: 1\r\n\r\n",
    "a body with a GET": b"GET /version HTTP/1.1\r\nHost: x\r\n"
    + SIZE
    + b"\r\n"
    + NEXT[: len(BODY)].ljust(32),
}


@pytest.mark.parametrize("request_", CLEAR.values(), ids=CLEAR.keys())
def test_a_request_of_clear_length_ends_where_it_says(kinepy_server: Server, request_: bytes) -> None:
    try:
        first, second = answers(kinepy_server.url, request_ + NEXT)
        assert first.code in (200, 201)
        assert (second.code, json.loads(second.body)["major"]) == (200, "1")
    finally:
        httpx.delete(f"{kinepy_server.url}{MAPS}/smuggled", trust_env=False)


def test_what_came_before_something_that_is_no_request_is_answered(kinepy_server: Server) -> None:
    create = POST + SIZE + b"\r\n" + BODY
    try:
        first, second = answers(
            kinepy_server.url, NEXT.replace(b"Connection: close\r\n", b"") + create + b"\x00" * 9
        )
        assert (first.code, second.code) == (200, 201)
    finally:
        httpx.delete(f"{kinepy_server.url}{MAPS}/smuggled", trust_env=False)


def test_the_options_of_the_whole_server_are_none(kinepy_server: Server) -> None:
    (answer,) = answers(kinepy_server.url, b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (answer.code, answer.body) == (200, b"")
    assert b"Content-Length: 0" in answer.head


def test_an_offer_of_http_2_is_declined_and_the_connection_goes_on(kinepy_server: Server) -> None:
    offer = (
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"
    )
    address = httpx.URL(kinepy_server.url)
    with socket.create_connection((address.host, address.port or 80), timeout=20) as connection:
        for request in (b"GET /version HTTP/1.1\r\nHost: x\r\n" + offer + b"\r\n", NEXT):
            connection.sendall(request)
            head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            assert json.loads(body)["major"] == "1"


def test_a_compressed_body_is_not_unfolded(kinepy_server: Server) -> None:
    import gzip

    bomb = gzip.compress(b"{" + b" " * 50_000_000 + b"}")
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = httpx.post(kinepy_server.url + configmaps(), content=bomb, headers=headers, trust_env=False)
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
