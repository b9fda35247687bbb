"""Bad input gets a named error that says what is wrong; nothing changes, and the server serves on."""

import json
import socket
from collections.abc import Iterator

import httpx
import pytest

from kinepy import open_store
from tests.processes import Client, Json, configmap, configmaps, message, ok

MIB = 1024 * 1024
TOO_LARGE = "Request entity too large: limit is 3145728"
UNKNOWN_FORMAT = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)


class Bad(Client):
    """A client whose requests must change nothing."""

    def raw(self, method: str, path: str, content: bytes, **headers: str) -> httpx.Response:
        """One request with a body as it stands."""
        return self.http.request(
            method, path, content=content, headers={"Content-Type": "application/json", **headers}
        )


@pytest.fixture
def bad(kinepy_server: "Server") -> Iterator[Bad]:
    with httpx.Client(base_url=kinepy_server.url, timeout=20, trust_env=False) as http:
        client = Bad(http)
        before = client.revision()
        yield client
        assert client.revision() == before, "bad input must change nothing"
        assert client.get("/readyz").status_code == 200


class Server:
    """What these tests need of the plugin's fixture."""

    url: str


def socket_to(url: str) -> socket.socket:
    """A plain connection to the server."""
    address = httpx.URL(url)
    return socket.create_connection((address.host, address.port or 80), timeout=20)


def answer_code(connection: socket.socket) -> int | None:
    """The code of the answer on a plain connection; None when it is closed without one."""
    try:
        head = connection.recv(65536)
    except ConnectionResetError:
        return None
    return int(head.split(b" ", 2)[1]) if head else None


# --- bodies

UNREADABLE = {
    "not json": (b"hello", "json parse error: "),
    "half": (b'{"kind": ', "unexpected end of JSON input"),
    "empty": (b"", "unexpected end of JSON input (<empty>)"),
    "a list": (b"[]", "cannot unmarshal array"),
}


@pytest.mark.parametrize(("body", "says"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_body_that_is_not_an_object_is_400(bad: Bad, body: bytes, says: str) -> None:
    text = message(bad.raw("POST", configmaps(), body), 400, "BadRequest")
    assert text.startswith("the object provided is unrecognized (must be of type ConfigMap): ")
    assert says in text


def test_a_wrong_kind_is_400(bad: Bad) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    assert message(bad.send("POST", configmaps(), body), 400, "BadRequest") == (
        'Secret in version "v1" cannot be handled as a ConfigMap: '
        "converting (v1.Secret) to (core.ConfigMap): unknown conversion"
    )


def test_a_name_of_254_characters_is_422(bad: Bad) -> None:
    name = "a" * 254
    assert message(bad.send("POST", configmaps(), configmap(name)), 422, "Invalid") == (
        f'ConfigMap "{name}" is invalid: metadata.name: Invalid value: "{name}": '
        "must be no more than 253 characters"
    )


def test_a_name_of_253_characters_is_fine(kinepy_server: Server) -> None:
    with httpx.Client(base_url=kinepy_server.url, trust_env=False) as http:
        Client(http).create("a" * 253)
        Client(http).delete("a" * 253)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_body_of_4_mib_is_413(bad: Bad, method: str) -> None:
    path = configmaps() if method == "POST" else f"{configmaps()}/big"
    body = json.dumps(configmap("big", k="x" * 4 * MIB)).encode()
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    answer = bad.raw(method, path, body, **{"Content-Type": kind})
    assert message(answer, 413, "RequestEntityTooLarge") == TOO_LARGE


def test_a_chunked_body_over_the_limit_is_413(bad: Bad) -> None:
    chunks = (b"x" * 65536 for _ in range(64))
    answer = bad.http.post(configmaps(), content=chunks, headers={"Content-Type": "application/json"})
    assert message(answer, 413, "RequestEntityTooLarge") == TOO_LARGE


def nested(depth: int) -> bytes:
    """A ConfigMap with lists in lists."""
    return b'{"metadata":{"name":"deep"},"data":' + b"[" * depth + b"]" * depth + b"}"


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_deep_json_is_400(bad: Bad, depth: int) -> None:
    message(bad.raw("POST", configmaps(), nested(depth)), 400, "BadRequest")


@pytest.mark.parametrize("kind", ["merge-patch+json", "json-patch+json"])
def test_a_deep_patch_is_refused(bad: Bad, kind: str) -> None:
    path = "/api/v1/namespaces/default"
    answer = bad.raw("PATCH", path, nested(100_000), **{"Content-Type": f"application/{kind}"})
    assert 400 <= answer.status_code < 500
    assert answer.json()["kind"] == "Status"


def test_deep_yaml_is_refused(bad: Bad) -> None:
    body = b"metadata: {name: deep}\ndata: " + b"[" * 20_000 + b"]" * 20_000
    answer = bad.raw("POST", configmaps(), body, **{"Content-Type": "application/yaml"})
    assert 400 <= answer.status_code < 500


def test_yaml_that_unfolds_to_much_is_refused(bad: Bad) -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    body = "\n".join([*lines, "metadata: {name: bomb}", "data: *a9"]).encode()
    answer = bad.raw("POST", configmaps(), body, **{"Content-Type": "application/yaml"})
    assert 400 <= answer.status_code < 500


def test_bytes_that_are_not_utf8_become_replacement_characters(kinepy_server: Server) -> None:
    body = b'{"metadata":{"name":"utf"},"data":{"k":"a\xffb"}}'
    with httpx.Client(base_url=kinepy_server.url, trust_env=False) as http:
        made = ok(Bad(http).raw("POST", configmaps(), body), 201)
        assert made["data"] == {"k": "a\N{REPLACEMENT CHARACTER}b"}
        Client(http).delete("utf")


NUMBERS = {
    "huge exponent": b'{"metadata":{"name":"n"},"data":{"k":1e999}}',
    "integer beyond 64 bits": b'{"metadata":{"name":"n","generation":99999999999999999999}}',
    "fraction": b'{"metadata":{"name":"n","generation":1.5}}',
    "a thousand digits": b'{"metadata":{"name":"n","generation":' + b"9" * 1000 + b"}}",
    "not a number": b'{"metadata":{"name":"n","generation":NaN}}',
}


@pytest.mark.parametrize("body", NUMBERS.values(), ids=NUMBERS.keys())
def test_a_number_that_does_not_fit_is_400(bad: Bad, body: bytes) -> None:
    message(bad.raw("POST", configmaps(), body), 400, "BadRequest")


BROKEN_PROTOBUF = {
    "no magic": b"abcd\x0a\x00",
    "only magic": b"k8s\x00",
    "cut": b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigM",
    "length beyond the end": b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\xff\xff\xff\x7f",
    "endless varint": b"k8s\x00" + b"\xff" * 64,
}


@pytest.mark.parametrize("body", BROKEN_PROTOBUF.values(), ids=BROKEN_PROTOBUF.keys())
def test_broken_protobuf_is_refused(bad: Bad, body: bytes) -> None:
    answer = bad.raw("POST", configmaps(), body, **{"Content-Type": "application/vnd.kubernetes.protobuf"})
    assert 400 <= answer.status_code < 500
    assert answer.json()["kind"] == "Status"


# --- media types


@pytest.mark.parametrize(
    "kind", ["text/csv", "application/cbor", "a/b/c", ";;;", "application/x-www-form-urlencoded"]
)
def test_an_unknown_body_type_is_415(bad: Bad, kind: str) -> None:
    answer = bad.raw("POST", configmaps(), b"x", **{"Content-Type": kind})
    assert message(answer, 415, "UnsupportedMediaType") == UNKNOWN_FORMAT


@pytest.mark.parametrize(
    "kind", ["text/csv", "image/*", ";q=1", "application/json;as=Nothing;v=v1;g=meta.k8s.io"]
)
def test_an_unknown_answer_type_is_406(bad: Bad, kind: str) -> None:
    answer = bad.raw("GET", configmaps(), b"", Accept=kind)
    message(answer, 406, "NotAcceptable")


def test_a_patch_of_unknown_type_is_415(bad: Bad) -> None:
    answer = bad.raw("PATCH", "/api/v1/namespaces/default", b"{}", **{"Content-Type": "text/csv"})
    assert message(answer, 415, "UnsupportedMediaType") == "415: Unsupported Media Type"


# --- options

PARSE = "strconv.ParseUint: parsing"
BAD_OPTIONS = {
    "resourceVersion=abc": (400, "BadRequest", f'{PARSE} "abc": invalid syntax'),
    "resourceVersion=-1": (400, "BadRequest", f'{PARSE} "-1": invalid syntax'),
    "resourceVersion=1.5": (400, "BadRequest", f'{PARSE} "1.5": invalid syntax'),
    "resourceVersion=99999999999999999999": (400, "BadRequest", "value out of range"),
    "limit=ten": (400, "BadRequest", 'strconv.ParseInt: parsing "ten": invalid syntax'),
    "limit=99999999999999999999": (400, "BadRequest", "value out of range"),
    "timeoutSeconds=99999999999999999999": (400, "BadRequest", "value out of range"),
    "timeout=soon": (400, "BadRequest", "invalid timeout specified in the request URL"),
    "labelSelector=%3D%3D": (400, "BadRequest", "found '=='"),
    "labelSelector=a%20in%20(": (400, "BadRequest", ""),
    "fieldSelector=metadata.name": (400, "BadRequest", "invalid selector: 'metadata.name'"),
    "fieldSelector=data.x%3D1": (400, "BadRequest", "is not a known field selector"),
    "resourceVersionMatch=Exact": (422, "Invalid", "forbidden unless resourceVersion is provided"),
    "sendInitialEvents=true": (422, "Invalid", "sendInitialEvents is forbidden for list"),
    "continue=%25%25": (
        400,
        "BadRequest",
        "invalid continue token: continue key is not valid: illegal base64",
    ),
}


@pytest.mark.parametrize("query", BAD_OPTIONS)
def test_bad_list_options_are_named(bad: Bad, query: str) -> None:
    code, reason, says = BAD_OPTIONS[query]
    assert says in message(bad.get(f"{configmaps()}?{query}"), code, reason)


@pytest.mark.parametrize("limit", ["-1", "-9223372036854775808", "0"])
def test_a_negative_limit_is_no_limit(bad: Bad, limit: str) -> None:
    assert "continue" not in ok(bad.get("/api/v1/namespaces", limit=limit))["metadata"]


@pytest.mark.parametrize("revision", [2**63, 2**64 - 1])
def test_a_revision_that_can_never_be_is_in_the_future(bad: Bad, revision: int) -> None:
    answer = bad.get(configmaps(), resourceVersion=revision, resourceVersionMatch="Exact")
    assert message(answer, 504, "Timeout").startswith(
        "Timeout: Too large resource version: 9223372036854775806, "
    )


def test_a_watch_with_a_garbage_revision_says_what_is_wrong(bad: Bad) -> None:
    answer = bad.get(configmaps(), watch="true", resourceVersion="abc")
    assert answer.status_code == 500
    assert answer.json()["message"] == (
        'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    )


def test_a_watch_from_beyond_every_revision_is_silent(bad: Bad) -> None:
    with bad.watch(configmaps(), resourceVersion=2**63, timeoutSeconds=1) as events:
        assert list(events) == []


def halves(token: str) -> list[str]:
    """A token cut in several places."""
    return [token[: len(token) // 2], token[:1], token[1:], token[:-3], token + "AA"]


@pytest.mark.parametrize("cut", range(5))
def test_a_cut_continue_token_is_400(bad: Bad, cut: int) -> None:
    token = ok(bad.get("/api/v1/namespaces", limit=1))["metadata"]["continue"]
    answer = bad.get("/api/v1/namespaces", limit=1, **{"continue": halves(token)[cut]})
    text = message(answer, 400, "BadRequest")
    assert text.startswith("invalid continue token: continue key is not valid: ")


def test_a_long_selector_is_served(bad: Bad) -> None:
    values = ",".join(f"v{i}" for i in range(4000))
    assert ok(bad.get("/api/v1/namespaces", labelSelector=f"a in ({values})"))["items"] == []


def test_a_gigantic_selector_is_4xx(bad: Bad) -> None:
    values = ",".join(f"v{i}" for i in range(300_000))
    with socket_to(str(bad.http.base_url)) as connection:
        request = f"GET /api/v1/namespaces?labelSelector=a+in+({values}) HTTP/1.1\r\nHost: x\r\n\r\n"
        try:
            connection.sendall(request.encode())
        except ConnectionError:
            pass  # it may be cut off before its end
        assert answer_code(connection) in (400, 414, 431, None)


# --- addresses


BAD_PATHS = [
    "/api/v1/namespaces/default/configmaps/a%00b",
    "/api/v1/namespaces/%00/configmaps/x",
    "/api/v1/namespaces/default/configmaps/%ff%fe",
    "/api/v1/namespaces/default/configmaps/%",
    "/api/v1/namespaces/default/configmaps/%zz",
    "/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets",
    "/api/v1/namespaces/default/configmaps/a/b/c/d/e",
    "/api/v1/namespaces/" + "n" * 5000 + "/configmaps/x",
]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("path", BAD_PATHS, ids=lambda path: path[:70])
def test_a_bad_address_is_4xx(bad: Bad, path: str, method: str) -> None:
    body = json.dumps(configmap("x")).encode() if method == "PUT" else b""
    request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with socket_to(str(bad.http.base_url)) as connection:
        connection.sendall(f"{request}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        code = answer_code(connection)
    assert code is not None
    assert 400 <= code < 500


async def test_the_store_itself_takes_nul_in_keys() -> None:
    async with open_store("sqlite:///:memory:") as store:
        await store.create(b"a\0b", b"value")
        found = await store.get(b"a\0b")
        assert found is not None
        assert found.value == b"value"


# --- connections


@pytest.mark.parametrize("request_", [b"hello\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00"])
def test_what_is_not_http_is_refused(bad: Bad, request_: bytes) -> None:
    with socket_to(str(bad.http.base_url)) as connection:
        connection.sendall(request_ + b"\r\n\r\n")
        assert answer_code(connection) in (400, None)


def test_two_lengths_are_refused(bad: Bad) -> None:
    head = b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket_to(str(bad.http.base_url)) as connection:
        connection.sendall(head + b"0\r\n\r\n")
        assert answer_code(connection) in (400, None)


def test_a_flood_of_headers_is_cut_off(bad: Bad) -> None:
    line = b"X-Flood: " + b"x" * 8000 + b"\r\n"
    with socket_to(str(bad.http.base_url)) as connection:
        connection.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n")
        try:
            for _ in range(4096):
                connection.sendall(line)
        except ConnectionError:
            return  # cut off in the middle: bounded
        assert answer_code(connection) in (400, 431, None)


def test_a_body_that_never_ends_is_bounded_by_the_timeout(bad: Bad) -> None:
    path = f"{configmaps()}?timeout=1s"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    with socket_to(str(bad.http.base_url)) as connection:
        connection.sendall(head.encode() + b'{"kind":')
        assert answer_code(connection) in (408, 504, None)


def test_a_client_that_leaves_in_the_middle_of_a_body_harms_nobody(bad: Bad) -> None:
    for _ in range(20):
        with socket_to(str(bad.http.base_url)) as connection:
            head = f"POST {configmaps()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Content-Length: 100\r\n\r\n".encode() + b'{"kind":')


BAD_METADATA: dict[str, Json] = {
    "labels that are a list": {"name": "m", "labels": ["a"]},
    "a label of 64 bytes": {"name": "m", "labels": {"a": "x" * 64}},
    "a label key with spaces": {"name": "m", "labels": {"a b": "x"}},
    "annotations over 256 KiB": {"name": "m", "annotations": {"a": "x" * 262_144}},
    "an unqualified finalizer": {"name": "m", "finalizers": ["plain"]},
    "a name with a NUL": {"name": "m\0"},
    "a name with a slash": {"name": "m/n"},
    "a name of dots": {"name": ".."},
    "a number as name": {"name": 7},
    "no name": {},
    "a resource version": {"name": "m", "resourceVersion": "7"},
}


@pytest.mark.parametrize("metadata", BAD_METADATA.values(), ids=BAD_METADATA.keys())
def test_bad_metadata_is_refused(bad: Bad, metadata: Json) -> None:
    answer = bad.send("POST", configmaps(), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    assert answer.status_code in ((500,) if "resourceVersion" in metadata else (400, 422))
    assert answer.json()["kind"] == "Status"
