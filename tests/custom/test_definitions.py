"""A definition gets its names, is served, and goes when its objects have gone."""

from typing import Any

import pytest

from tests.custom.definitions import (
    DEFINITIONS,
    GROUP,
    ROOT,
    WIDGETS,
    Crds,
    conditions,
    definition,
    spec_schema,
    version,
    widget,
)
from tests.http.writing import Api

NAME = f"{DEFINITIONS}/widgets.{GROUP}"


async def test_its_names_are_accepted_and_it_is_established(api: Api, crds: Crds) -> None:
    await crds.define()
    found = await api.get(NAME)
    assert list(conditions(found)) == ["NamesAccepted", "Established"]
    assert found.body["status"]["acceptedNames"]["listKind"] == "WidgetList"


async def test_objects_are_served_once_it_is_established(api: Api, crds: Crds) -> None:
    await crds.define()
    assert (await api.post(WIDGETS, widget(spec={"a": "x"}))).code == 201
    assert (await api.get(f"{WIDGETS}/w")).body["spec"] == {"a": "x"}


async def test_discovery_and_openapi_follow(api: Api, crds: Crds) -> None:
    await crds.define()
    assert [one["name"] for one in (await api.get(ROOT)).body["resources"]] == ["widgets"]
    document = (await api.get(f"/openapi/v3/apis/{GROUP}/v1")).body
    assert "com.example.v1.Widget" in document["components"]["schemas"]
    assert "com.example.v1.Widget" in (await api.get("/openapi/v2")).body["definitions"]


async def test_a_change_of_one_group_leaves_the_documents_of_others(api: Api, crds: Crds) -> None:
    before = (await api.get("/openapi/v3")).body["paths"]
    await crds.define()
    after = (await api.get("/openapi/v3")).body["paths"]
    assert after.keys() - before.keys() == {f"apis/{GROUP}/v1"}
    assert all(after[path] == before[path] for path in before)


async def test_who_came_first_keeps_a_kind(api: Api, crds: Crds) -> None:
    await crds.define()
    assert (await api.post(DEFINITIONS, definition(plural="gadgets"))).code == 201
    await crds.wait_for(f"gadgets.{GROUP}", lambda reply: bool(conditions(reply)))
    rival = await api.get(f"{DEFINITIONS}/gadgets.{GROUP}")
    assert conditions(rival)["NamesAccepted"] == ("False", "ListKindConflict")
    assert (await api.get(f"{ROOT}/gadgets")).code == 404


async def test_a_rival_gets_the_names_when_they_are_free(api: Api, crds: Crds) -> None:
    await crds.define()
    await api.post(DEFINITIONS, definition(plural="gadgets"))
    await crds.wait_for(f"gadgets.{GROUP}", lambda reply: bool(conditions(reply)))
    await crds.delete()
    await crds.wait_for(
        f"gadgets.{GROUP}", lambda reply: conditions(reply).get("Established", ("",))[0] == "True"
    )
    assert (await api.get(f"{ROOT}/gadgets")).code == 200


async def test_its_objects_go_with_it_and_its_name_is_free_at_once(api: Api, crds: Crds) -> None:
    await crds.define()
    for index in range(20):
        assert (await api.post(WIDGETS, widget(f"w{index}"))).code == 201
    await crds.delete()
    assert (await api.get(WIDGETS)).code == 404
    await crds.define()
    assert (await api.get(WIDGETS)).body["items"] == []


async def test_finalizers_of_objects_hold_it_and_nothing_new_is_taken(api: Api, crds: Crds) -> None:
    await crds.define()
    held = widget()
    held["metadata"]["finalizers"] = ["example.com/held"]
    await api.post(WIDGETS, held)
    await api.delete(NAME)
    await crds.wait_for(
        f"widgets.{GROUP}",
        lambda reply: conditions(reply).get("Terminating") == ("True", "InstanceDeletionInProgress"),
    )
    refused = await api.post(WIDGETS, widget("other"))
    assert refused.code == 403
    assert "create not allowed while custom resource definition is terminating" in refused.message
    await api.patch(f"{WIDGETS}/w", {"metadata": {"finalizers": None}})
    await crds.wait_for(f"widgets.{GROUP}", lambda reply: reply.code == 404)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scope": "Cluster"}, "spec.scope"),
        ({"names": {"plural": "others"}}, "spec.names.plural"),
        ({"group": "other.com"}, "spec.group"),
    ],
)
async def test_what_it_is_called_may_not_change(
    change: dict[str, Any], field: str, api: Api, crds: Crds
) -> None:
    await crds.define()
    refused = await api.patch(NAME, {"spec": change})
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == [field]


async def test_a_new_storage_version_is_remembered(api: Api, crds: Crds) -> None:
    await crds.define()
    both = [version(storage=False), version("v2", storage=True)]
    reply = await api.patch(NAME, {"spec": {"versions": both}})
    assert reply.body["status"]["storedVersions"] == ["v1", "v2"]


async def test_objects_stored_in_an_older_version_are_still_served(api: Api, crds: Crds) -> None:
    await crds.define()
    await api.post(WIDGETS, widget(spec={"a": "x"}))
    await api.patch(NAME, {"spec": {"versions": [version(storage=False), version("v2", storage=True)]}})
    await crds.wait_for(f"widgets.{GROUP}", lambda reply: reply.body["metadata"]["generation"] == 2)
    found = await api.get(f"/apis/{GROUP}/v2/namespaces/default/widgets/w")
    assert (found.body["apiVersion"], found.body["spec"]) == (f"{GROUP}/v2", {"a": "x"})


async def test_an_unknown_format_is_warned_of(api: Api) -> None:
    schema = spec_schema(a={"type": "string", "format": "frob"})
    reply = await api.post(DEFINITIONS, definition(version(schema=schema)))
    assert reply.header("warning") == ['299 - "unrecognized format \\"frob\\""']


async def test_swagger_leaves_out_what_it_has_no_words_for(api: Api, crds: Crds) -> None:
    rich = {
        "type": "object",
        "additionalProperties": True,
        "allOf": [{"required": ["x"]}],
        "anyOf": [{"minProperties": 1}],
    }
    await crds.define(version(schema=spec_schema(a=rich, b={"x-kubernetes-int-or-string": True})))
    found = (await api.get("/openapi/v2")).body["definitions"]["com.example.v1.Widget"]
    assert found["properties"]["spec"]["properties"]["a"].keys() == {"type", "additionalProperties"}
    protobuf = {"accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
    assert (await api.get("/openapi/v2", headers=protobuf)).code == 200
