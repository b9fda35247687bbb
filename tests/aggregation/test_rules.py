"""What is decided without a network: who may pass, which objects are accepted, what is told, where a Service leads."""

import base64
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.aggregation.endpoints import Address, Slice, Unresolved, addresses, slices_of
from kinepy_server.aggregation.framing import whole_messages
from kinepy_server.aggregation.headers import identity, target
from kinepy_server.auth.authenticate import NOBODY
from kinepy_server.auth.setup import Security
from kinepy_server.auth.user import User
from kinepy_server.request import Request
from kinepy_server.response import Cut
from tests.aggregation.aggregating import API_SERVICES_PATH
from tests.aggregation.backend import FLUNDERS, GROUP, VERSION, api_service, running_backend, service
from tests.aggregation.serving import served
from tests.http.writing import MERGE, Api

NAME = f"{VERSION}.{GROUP}"
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


async def test_rights_are_looked_at_before_anything_is_sent() -> None:
    admin = User("admin", ("system:masters",))
    async with served(security=Security(users={"secret": admin})) as server, running_backend() as backend:
        server.http.headers["authorization"] = "Bearer secret"
        assert (await server.post("/api/v1/namespaces/default/services", service())).code == 201
        assert (await server.post(API_SERVICES_PATH, api_service(backend.port))).code == 201
        del server.http.headers["authorization"]
        for target in (FLUNDERS, f"{FLUNDERS}?watch=1", f"/apis/{GROUP}/{VERSION}"):
            refused = await server.get(target)
            assert (refused.code, refused.body["reason"]) == (403, "Forbidden")
            assert NOBODY.name in refused.message
        assert backend.asked == []


@pytest.mark.parametrize(
    ("spec", "name", "causes"),
    [
        (
            {},
            "v1.wrong",
            [
                (
                    "metadata.name",
                    f'Invalid value: "v1.wrong": must be `spec.version+"."+spec.group`: "{NAME}"',
                )
            ],
        ),
        (
            {"group": "", "version": "v2"},
            "v2.",
            [("spec.group", "Required value: only v1 may have an empty group and it better be legacy kube")],
        ),
        ({"version": "V1"}, f"V1.{GROUP}", [("spec.version", f'Invalid value: "V1": {LABEL}')]),
        (
            {"groupPriorityMinimum": 20001, "versionPriority": 0},
            NAME,
            [
                ("spec.groupPriorityMinimum", "Invalid value: 20001: must be positive and less than 20000"),
                ("spec.versionPriority", "Invalid value: 0: must be positive and less than 1000"),
            ],
        ),
        (
            {"service": None, "caBundle": base64.b64encode(b"1234").decode(), "insecureSkipTLSVerify": True},
            NAME,
            [
                ("spec.caBundle", 'Invalid value: "4 bytes": local APIServices may not have a caBundle'),
                (
                    "spec.insecureSkipTLSVerify",
                    "Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
                ),
            ],
        ),
        (
            {"service": {}, "insecureSkipTLSVerify": True},
            NAME,
            [
                ("spec.service.namespace", "Required value"),
                ("spec.service.name", "Required value"),
                ("spec.insecureSkipTLSVerify", "Invalid value: true: may not be true if caBundle is present"),
            ],
        ),
    ],
)
async def test_what_is_wrong_with_one_is_told(
    memory_api: Api, spec: Any, name: str, causes: list[tuple[str, str]]
) -> None:
    made = api_service(443, **spec) | {"metadata": {"name": name}}
    refused = await memory_api.post(API_SERVICES_PATH, made)
    assert refused.code == 422
    found = refused.body["details"]["causes"]
    assert [(one["field"], one["message"]) for one in found] == causes


async def test_a_change_must_be_right_too(memory_api: Api) -> None:
    assert (await memory_api.post(API_SERVICES_PATH, api_service(443))).code == 201
    path = f"{API_SERVICES_PATH}/{NAME}"
    refused = await memory_api.patch(path, {"spec": {"version": "v9"}}, content_type=MERGE)
    assert (refused.code, refused.body["details"]["causes"][0]["field"]) == (422, "metadata.name")


def test_a_user_is_told_in_headers() -> None:
    user = User("jané", ("a", "b"), "u-1", {"acme.com/50%": ("x", "y"), "plain": ("z",)})
    assert list(identity(user)) == [
        (b"X-Remote-User", "jané".encode()),
        (b"X-Remote-Uid", b"u-1"),
        (b"X-Remote-Group", b"a"),
        (b"X-Remote-Group", b"b"),
        (b"X-Remote-Extra-acme.com%2F50%25", b"x"),
        (b"X-Remote-Extra-acme.com%2F50%25", b"y"),
        (b"X-Remote-Extra-plain", b"z"),
    ]


def test_path_and_query_are_spelled_as_the_original_does() -> None:
    query = {"b": ["2", "1"], "a": ["x y&z"], "watch": [""]}
    request = Request("GET", "/apis/g/v/namespaces/ü 1/o:o'(x)", query, {}, NOBODY)
    assert target(request) == b"/apis/g/v/namespaces/%C3%BC%201/o:o%27%28x%29?a=x+y%26z&b=2&b=1&watch="


def a_service(kind: str = "ClusterIP", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "s"},
        "spec": {"type": kind, "ports": [{"port": 443, "name": "https"}]} | spec,
    }


SLICES = [Slice(["10.0.0.1", "fd00::1"], {"https": 8443}), Slice(["10.0.0.2"], {"http": 80})]


def test_a_service_leads_to_what_is_ready_at_its_port() -> None:
    for kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        assert [one.netloc for one in addresses(a_service(kind), 443, SLICES)] == [
            "10.0.0.1:8443",
            "[fd00::1]:8443",
        ]
    outside = a_service("ExternalName", externalName="a.example.com", ports=None)
    assert addresses(outside, 7, []) == [Address("a.example.com", 7)]


@pytest.mark.parametrize(
    ("service", "port", "text"),
    [
        (a_service(), 80, 'no service port 80 found for service "s"'),
        (a_service(ports=[{"port": 443}]), 443, 'no endpoints available for service "s"'),
        (a_service("Odd"), 443, 'unsupported service type "Odd"'),
    ],
)
def test_a_service_that_leads_nowhere_says_why(service: Any, port: int, text: str) -> None:
    with pytest.raises(Unresolved, match=text):
        addresses(service, port, SLICES)


def test_what_is_not_ready_is_left_out() -> None:
    endpoints = [
        {"addresses": ["1.1.1.1"], "conditions": {"ready": False}},
        {"addresses": ["2.2.2.2"], "conditions": {"ready": True}},
        {"addresses": ["3.3.3.3"], "conditions": {}},
    ]
    (found,) = slices_of([{"endpoints": endpoints, "ports": [{"port": 1}, {"name": "none"}]}])
    assert (found.hosts, found.ports) == (["2.2.2.2", "3.3.3.3"], {"": 1})


@given(st.lists(st.binary(min_size=0, max_size=40), max_size=8), st.integers(1, 9), st.booleans())
async def test_a_stream_is_cut_where_messages_end(bodies: list[bytes], size: int, lines: bool) -> None:
    if lines:
        messages = [body.replace(b"\n", b"") + b"\n" for body in bodies]
    else:
        messages = [len(body).to_bytes(4, "big") + body for body in bodies]
    whole = b"".join(messages)
    ends = {len(b"".join(messages[:count])) for count in range(len(messages) + 1)}

    async def parts() -> Any:
        for start in range(0, len(whole), size):
            yield whole[start : start + size]

    at = 0
    async for part in whole_messages(parts(), lines=lines):
        at += len(part)
        assert at in ends
    assert at == len(whole)


@pytest.mark.parametrize("lines", [True, False])
async def test_the_cost_of_a_long_message_does_not_grow_with_its_parts(lines: bool) -> None:
    size, count = 4096, 8192
    head = b"" if lines else (size * count).to_bytes(4, "big")

    async def parts() -> Any:
        yield head
        for _ in range(count):
            yield b"x" * size
        yield b"\n" * lines

    began = time.process_time()
    [message] = [part async for part in whole_messages(parts(), lines=lines)]
    assert len(message) == len(head) + size * count + lines
    assert time.process_time() - began < 2


async def test_a_stream_that_ends_within_a_message_is_cut() -> None:
    async def parts() -> Any:
        yield b"one\ntw"

    found = whole_messages(parts(), lines=True)
    assert await anext(found) == b"one\n"
    with pytest.raises(Cut):
        await anext(found)
