"""Patch (3.3): the formats, their failures, and that only a version in the patch makes it conflict."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.patch.json_patch import PatchFailed, apply_json_patch
from kinepy_server.patch.merge_patch import apply_merge_patch
from tests.http.writing import CONFIGMAPS, JSON_PATCH, LEASES, Api, configmap

REJECTED = "the server rejected our request due to an error in our request"
JSON_OBJECTS = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("abc", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("abc", max_size=2), JSON_OBJECTS, max_size=4)


async def test_concurrent_patches_all_take_effect(api: Api) -> None:
    await api.post(CONFIGMAPS, configmap(data={}))
    patches = ({"data": {f"k{n}": "v"}} for n in range(20))
    replies = await asyncio.gather(*(api.patch(f"{CONFIGMAPS}/a", patch) for patch in patches))
    assert {reply.code for reply in replies} == {200}
    assert len((await api.get(f"{CONFIGMAPS}/a")).body["data"]) == 20


async def test_a_version_in_the_patch_is_compared(api: Api) -> None:
    version = (await api.post(CONFIGMAPS, configmap())).version
    patch = {"metadata": {"resourceVersion": version}, "data": {"k": "v"}}
    assert (await api.patch(f"{CONFIGMAPS}/a", patch)).code == 200
    assert (await api.patch(f"{CONFIGMAPS}/a", patch)).code == 409


async def test_a_patch_that_changes_nothing_keeps_the_version(api: Api) -> None:
    made = await api.post(CONFIGMAPS, configmap(data={"k": "v"}))
    assert (await api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})).content == made.content


async def test_a_missing_object_is_not_found_whatever_the_patch(memory_api: Api) -> None:
    assert (await memory_api.patch(f"{CONFIGMAPS}/none", b"{")).code == 404


async def test_a_failed_test_is_unprocessable(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap(data={"k": "1"}))
    operations = [{"op": "test", "path": "/data/k", "value": "2"}]
    reply = await memory_api.patch(f"{CONFIGMAPS}/a", operations, content_type=JSON_PATCH)
    assert (reply.code, reply.message) == (422, REJECTED)


@pytest.mark.parametrize(
    ("content_type", "body", "problem"),
    [
        (
            "merge-patch+json",
            b"[]",
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        ("merge-patch+json", b"{", "unexpected end of JSON input"),
        (
            "json-patch+json",
            b"{}",
            "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            "json-patch+json",
            b"[1]",
            "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
        ),
    ],
)
async def test_a_body_that_is_no_patch_is_refused(
    memory_api: Api, content_type: str, body: bytes, problem: str
) -> None:
    await memory_api.post(CONFIGMAPS, configmap())
    reply = await memory_api.patch(f"{CONFIGMAPS}/a", body, content_type=f"application/{content_type}")
    assert (reply.code, reply.message) == (400, f"error decoding patch: {problem}")


async def test_other_formats_are_unsupported(memory_api: Api) -> None:
    reply = await memory_api.patch(f"{CONFIGMAPS}/a", {}, content_type="application/json")
    assert (reply.code, reply.message) == (415, "415: Unsupported Media Type")


async def test_a_result_of_the_wrong_type_shows_the_patched_object(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap())
    reply = await memory_api.patch(f"{CONFIGMAPS}/a", {"data": "x"})
    assert reply.code == 422
    assert reply.message.startswith(' "" is invalid: patch: Invalid value: "{\\"apiVersion\\":\\"v1\\"')
    assert reply.body["details"]["causes"][0]["field"] == "patch"


async def test_unknown_fields_refuse_a_strict_patch(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap())
    reply = await memory_api.patch(f"{CONFIGMAPS}/a?fieldValidation=Strict", {"frob": 1})
    assert reply.code == 422
    assert reply.message.endswith('strict decoding error: unknown field "frob"')


async def test_force_is_for_apply_alone(memory_api: Api) -> None:
    reply = await memory_api.patch(f"{CONFIGMAPS}/a?force=true", {})
    assert reply.message.endswith("force: Forbidden: may not be specified for non-apply patch")


async def test_a_null_version_is_no_version(memory_api: Api) -> None:
    await memory_api.post(LEASES, {"metadata": {"name": "l"}})
    patch = {"metadata": {"resourceVersion": None}, "spec": {"holderIdentity": "x"}}
    assert (await memory_api.patch(f"{LEASES}/l", patch)).code == 422
    assert (await memory_api.patch(f"{LEASES}/l", {"spec": {"holderIdentity": "x"}})).code == 200


OPERATIONS: list[tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any] | None]] = [
    ({}, [{"op": "add", "path": "/a", "value": 1}], {"a": 1}),
    ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
    ({"a": [1]}, [{"op": "add", "path": "/a/0", "value": 0}], {"a": [0, 1]}),
    ({"a": [1, 2]}, [{"op": "remove", "path": "/a/-1"}], {"a": [1]}),
    ({"a": [1]}, [{"op": "add", "path": "/a/2", "value": 0}], None),
    ({"a": 1}, [{"op": "remove", "path": "/a"}], {}),
    ({}, [{"op": "remove", "path": "/a"}], None),
    ({}, [{"op": "replace", "path": "/a", "value": 1}], {"a": 1}),
    ({}, [{"op": "replace", "path": "/a/b", "value": 1}], None),
    ({"a": 1}, [{"op": "move", "from": "/a", "path": "/b"}], {"b": 1}),
    ({}, [{"op": "move", "from": "/a", "path": "/b"}], None),
    ({"a": {"x": 1}}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": {"x": 1}, "b": {"x": 1}}),
    ({}, [{"op": "test", "path": "/a", "value": None}], {}),
    ({"a": True}, [{"op": "test", "path": "/a", "value": 1}], None),
    ({"a/b": {"~": 1}}, [{"op": "remove", "path": "/a~1b/~0"}], {"a/b": {}}),
    ({"a": 1}, [{"op": "add", "path": "", "value": {}}], None),
    ({"a": 1}, [{"op": "frob", "path": "/a"}], None),
    ({"a": [1]}, [{"op": "remove", "path": "/a/x"}], None),
]


@pytest.mark.parametrize(("document", "operations", "expected"), OPERATIONS)
def test_json_patch(
    document: dict[str, Any], operations: list[dict[str, Any]], expected: dict[str, Any] | None
) -> None:
    if expected is None:
        with pytest.raises(PatchFailed):
            apply_json_patch(document, operations)
    else:
        assert apply_json_patch(document, operations) == expected


def test_what_a_json_patch_copies_is_bounded() -> None:
    document = {"a": "x" * 1_000_000}
    copies = [{"op": "copy", "from": "/a", "path": f"/b{n}"} for n in range(4)]
    with pytest.raises(PatchFailed, match="copies more than"):
        apply_json_patch(document, copies)


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_is_as_the_standard_defines_it(target: dict[str, Any], patch: dict[str, Any]) -> None:
    def merged(old: Any, new: Any) -> Any:
        if not isinstance(new, dict):
            return new
        kept = dict(old) if isinstance(old, dict) else {}
        for name, value in new.items():
            kept.pop(name, None)
            if value is not None:
                kept[name] = merged(old.get(name) if isinstance(old, dict) else None, value)
        return kept

    expected = merged(target, patch)
    assert apply_merge_patch(target, patch) == expected
    assert apply_merge_patch(target, patch) == expected
