"""Whatever body is sent, in any format and for any type: it is taken, or refused with 4xx, soon, in bounded memory."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import psutil
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinepy_server.schema.types import type_named
from kinepy_server.wire.protobuf import seal_object
from tests.http.protobuf_values import values_of
from tests.http.types import KEYS, minimal, resource_of
from tests.processes import ServerProcess

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PATCHES = ("merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
ANSWER_S = 20.0
GROWTH_MAX = 200 << 20
FUZZ = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))

# What a real kube-apiserver was recorded to answer with 500, without a reason.
RECORDED_500 = re.compile(
    "resourceVersion should not be set on objects to be created"
    "|failed to create typed patch object"
    "|unknown patch type: "
    "|does not contain declared merge key: "
    "|strconv.ParseUint: parsing "
)
BROKEN: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, -1, 2**63, 10**400, 1.5, 1e308, "", "x", "\0", "\ud800", [], [None], {}, {"": None}, [[]], True]
)


class Fuzzed:
    """A connection on which anything is sent; nothing of it is kept."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def send(self, key: str, body: bytes, *, kind: str, patch: bool = False) -> int:
        """The code of the answer, which must be a proper one."""
        of = resource_of(key)
        where = "/api/v1" if not of.group else f"/apis/{of.group}/{of.version}"
        where += f"/namespaces/default/{of.plural}" if of.namespaced else f"/{of.plural}"
        answer = self.http.request(
            "PATCH" if patch else "POST",
            f"{where}/fuzzed?dryRun=All&fieldManager=f" if patch else f"{where}?dryRun=All",
            content=body,
            headers={"Content-Type": kind},
        )
        if answer.status_code == 500:
            assert RECORDED_500.search(answer.json()["message"]), (key, kind, body[:500], answer.text[:500])
        else:
            assert answer.status_code < 500, (key, kind, body[:500], answer.text[:500])
        return answer.status_code


@pytest.fixture(scope="module")
def fuzzed(shared_server: ServerProcess) -> Iterator[Fuzzed]:
    """Afterwards the server still serves, and has not grown."""
    process = psutil.Process(shared_server.pid)
    before = process.memory_info().rss
    with httpx.Client(
        base_url=shared_server.url,
        headers=shared_server.headers,
        verify=shared_server.tls,
        timeout=ANSWER_S,
        trust_env=False,
    ) as http:
        yield Fuzzed(http)
        assert http.get("/readyz").status_code == 200
    assert process.memory_info().rss - before < GROWTH_MAX


@st.composite
def broken(draw: st.DrawFn, value: Any) -> Any:
    """A value with something else somewhere."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        name = draw(st.sampled_from(sorted(value)))
        return {**value, name: draw(broken(value[name]))}
    if isinstance(value, list) and value and draw(st.booleans()):
        return [draw(broken(value[0])), *value[1:]]
    return draw(BROKEN)


@st.composite
def objects(draw: st.DrawFn) -> tuple[str, Any]:
    """A type's key, and an object that is nearly of the type."""
    key = draw(st.sampled_from(KEYS))
    value = minimal(key)
    if draw(st.booleans()):
        drawn = draw(values_of(type_named(resource_of(key).schema)))
        value = {**drawn, **{name: value[name] for name in ("apiVersion", "kind", "metadata")}}
    return key, draw(broken(value)) if draw(st.integers(0, 3)) else value


@st.composite
def damaged(draw: st.DrawFn, body: bytes) -> bytes:
    """Bytes of which some are others, lost, or too many: lengths lie, and text is not UTF-8."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(body) - 1)))
        lost = draw(st.integers(0, 3))
        body = body[:at] + draw(st.binary(max_size=4)) + body[at + lost :]
    return body


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


@FUZZ
@given(data=st.data())
def test_any_json_is_taken_or_refused(fuzzed: Fuzzed, data: st.DataObject) -> None:
    key, value = data.draw(objects())
    body = as_json(value)
    fuzzed.send(key, data.draw(damaged(body)) if data.draw(st.booleans()) else body, kind=JSON)


@FUZZ
@given(data=st.data())
def test_any_yaml_is_taken_or_refused(fuzzed: Fuzzed, data: st.DataObject) -> None:
    key, value = data.draw(objects())
    body = yaml.safe_dump(value).encode("utf-8", "surrogatepass")
    fuzzed.send(key, data.draw(damaged(body)) if data.draw(st.booleans()) else body, kind=YAML)


@FUZZ
@given(data=st.data())
def test_any_protobuf_is_taken_or_refused(fuzzed: Fuzzed, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(KEYS))
    body = seal_object(minimal(key))
    assert body is not None
    fuzzed.send(key, data.draw(damaged(body)), kind=PROTOBUF)


@FUZZ
@given(data=st.data(), patch=st.sampled_from(PATCHES))
def test_any_patch_is_taken_or_refused(fuzzed: Fuzzed, data: st.DataObject, patch: str) -> None:
    key, value = data.draw(objects())
    if patch.startswith("json-patch"):
        path = data.draw(
            st.sampled_from(["", "/", "/metadata", "/metadata/labels/a~1b", "/spec/x/-", "/0", "~"])
        )
        verb = data.draw(st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "", None]))
        value = [{"op": verb, "path": path, "from": path, "value": value}]
    body = as_json(value)
    body = data.draw(damaged(body)) if data.draw(st.booleans()) else body
    # The namespace is there; nothing else is.
    fuzzed.send(key, body, kind=f"application/{patch}", patch=True)


DEEP = 10_000
ANCHORS = b"".join(b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 12))
HARD: dict[str, tuple[str, bytes]] = {
    "lists in lists": (JSON, b'{"metadata":{"name":"a"},"data":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "objects in objects": (JSON, b'{"data":' * DEEP + b"1" + b"}" * DEEP),
    "unclosed": (JSON, b'{"data":[' * DEEP),
    "yaml in yaml": (YAML, b"data: " + b"{a: " * DEEP + b"1" + b"}" * DEEP),
    "yaml by indentation": (YAML, b"".join(b" " * i + b"a:\n" for i in range(1500))),
    "yaml that unfolds": (YAML, b"a0: &a0 [x,x,x]\n" + ANCHORS + b"data: *a11\n"),
    "yaml that holds itself": (YAML, b"data: &a {a: *a}\n"),
    "yaml of many merges": (YAML, b"a: &a {k: v}\ndata:\n" + b"  <<: *a\n" * 5000),
    "yaml with a tag": (YAML, b"data: !!python/object/apply:os.system [true]\n"),
    "yaml with many documents": (YAML, b"---\na: 1\n" * 50_000),
    "a number of a million digits": (
        JSON,
        b'{"metadata":{"name":"a","generation":' + b"9" * 1_000_000 + b"}}",
    ),
    "a yaml number of a million digits": (
        YAML,
        b"metadata: {name: a, generation: " + b"9" * 1_000_000 + b"}",
    ),
    "a yaml number in sixties": (YAML, b"metadata: {name: a, generation: " + b"9:" * 100_000 + b"9}"),
    "many names": (JSON, as_json({"data": {f"k{i}": 1 for i in range(200_000)}})),
    "one name many times": (JSON, b'{"data":{' + b",".join([b'"k":"v"'] * 200_000) + b"}, }"),
    "lengths in protobuf that nest": (PROTOBUF, b"k8s\0" + b"\x12\x80\x01" * 100_000),
    "groups in protobuf": (PROTOBUF, b"k8s\0" + b"\x0b" * 1_000_000),
    "names that are numbers in yaml": (YAML, b"1: 2\n[1,2]: 3\n? {a: b}\n: 4\n"),
}


@pytest.mark.parametrize("name", HARD)
def test_a_body_that_is_hard_to_read_is_refused(fuzzed: Fuzzed, name: str) -> None:
    kind, body = HARD[name]
    assert 400 <= fuzzed.send("v1/configmaps", body, kind=kind) < 500


@pytest.mark.parametrize("patch", PATCHES)
@pytest.mark.parametrize("name", [name for name, (kind, _) in HARD.items() if kind == JSON])
def test_a_patch_that_is_hard_to_read_is_refused(fuzzed: Fuzzed, name: str, patch: str) -> None:
    code = fuzzed.send("v1/configmaps", HARD[name][1], kind=f"application/{patch}", patch=True)
    assert 400 <= code < 500 or "apply" in patch
