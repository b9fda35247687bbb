"""Long YAML bodies are read beside everything else, and read as short ones are."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from kinepy import open_store
from kinepy_server.body import YAML_ASIDE_BYTES
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.wire.yaml_text import ParsedBody, YamlError, parse_yaml
from tests.http.writing import CONFIGMAPS, Api, api_over

YAML, APPLY = "application/yaml", "application/apply-patch+yaml"
HEAD = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %b\ndata:\n"
SERVED_MEANWHILE = 25


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """The application over memory."""
    async with (
        open_store("sqlite:///:memory:") as store,
        api_over(Context(store, builtin_registry())) as found,
    ):
        yield found


def long_yaml(name: str, size: int) -> bytes:
    """A ConfigMap of about a size."""
    lines = (b"  key%d: value number %d\n" % (index, index) for index in range(size // 32))
    return HEAD % name.encode() + b"".join(lines)


@contextmanager
def the_only_thread_held() -> Iterator[threading.Event]:
    """One thread is all that there is for what is done aside, and it is busy until the event is set."""
    release = threading.Event()
    with ThreadPoolExecutor(max_workers=1) as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        threads.submit(release.wait)
        try:
            yield release
        finally:
            release.set()


@pytest.mark.parametrize("verb", ["create", "apply"])
async def test_others_are_served_while_it_is_read(verb: str, api: Api) -> None:
    body = long_yaml("long", 2 * YAML_ASIDE_BYTES)
    if verb == "create":
        sent = api.post(CONFIGMAPS, body, content_type=YAML)
    else:
        sent = api.patch(f"{CONFIGMAPS}/long?fieldManager=m", body, content_type=APPLY)
    with the_only_thread_held() as release:
        writing = asyncio.create_task(sent)
        for _ in range(SERVED_MEANWHILE):
            assert (await api.get("/api/v1/namespaces/default")).code == 200
            await asyncio.sleep(0)
        assert not writing.done()
        release.set()
        assert (await writing).code == 201


async def test_it_is_kept_as_a_short_one_is(api: Api) -> None:
    body = long_yaml("long", 2 * YAML_ASIDE_BYTES)
    made = await api.post(CONFIGMAPS, body, content_type=YAML)
    assert made.body["data"] == parse_yaml(body)[0]["data"]
    changed = await api.put(f"{CONFIGMAPS}/long", body + b"  more: text\n", content_type=YAML)
    assert (changed.code, changed.body["data"]["more"]) == (200, "text")


async def test_repeated_keys_and_mistakes_are_told_of_it(api: Api) -> None:
    body = long_yaml("long", 2 * YAML_ASIDE_BYTES)
    line = body.count(b"\n") + 2
    twice = body + b"  twice: a\n  twice: b\n"
    warned = await api.post(CONFIGMAPS, twice, content_type=YAML)
    assert warned.header("warning") == [f'299 - "line {line}: key \\"twice\\" already set in map"']
    refused = await api.post(f"{CONFIGMAPS}?fieldValidation=Strict", twice, content_type=YAML)
    assert (refused.code, f'line {line}: key "twice" already set in map' in refused.message) == (400, True)
    broken = await api.post(CONFIGMAPS, body + b"  [", content_type=YAML)
    assert (broken.code, "error converting YAML to JSON: yaml: " in broken.message) == (400, True)


async def test_json_that_is_applied_is_read_as_json(api: Api) -> None:
    long = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"j"},"data":{"a":"%b"}}' % (
        b"x" * 40_000
    )
    made = await api.patch(f"{CONFIGMAPS}/j?fieldManager=m", long, content_type=APPLY)
    assert (made.code, len(made.body["data"]["a"])) == (201, 40_000)


def test_what_was_parsed_before_is_given_out_anew_each_time() -> None:
    body = ParsedBody.of(b"a: {b: 1}\na: {b: 2}\n")
    first, repeated = parse_yaml(body)
    first["a"]["b"] = 3
    assert parse_yaml(body) == ({"a": {"b": 2}}, repeated)
    for _ in range(2):
        with pytest.raises(YamlError, match="did not find expected"):
            parse_yaml(ParsedBody.of(b"a: {"))
