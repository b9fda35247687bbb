"""Custom objects: defaults on reading, the form of a changed schema, ratcheting, numbers, columns."""

from typing import Any

import orjson
import pytest

from tests.custom.definitions import GROUP, WIDGETS, Crds, spec_schema, version, widget
from tests.http.writing import Api

TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


async def test_a_later_default_shows_without_a_new_version(api: Api, crds: Crds) -> None:
    await crds.define()
    created = await api.post(WIDGETS, widget(spec={"a": "x"}))
    await crds.set_schema("/properties/spec/properties/b", {"type": "string", "default": "later"})
    found = await api.get(f"{WIDGETS}/w")
    assert (found.body["spec"], found.version) == ({"a": "x", "b": "later"}, created.version)
    assert (await api.get(WIDGETS)).body["items"][0]["spec"] == {"a": "x", "b": "later"}


async def test_what_a_changed_schema_does_not_name_is_not_shown(api: Api, crds: Crds) -> None:
    await crds.define(version(schema=spec_schema(a={"type": "string"}, b={"type": "string"})))
    await api.post(WIDGETS, widget(spec={"a": "x", "b": "y"}))
    await crds.set_schema("/properties/spec/properties", {"a": {"type": "string"}})
    assert (await api.get(f"{WIDGETS}/w")).body["spec"] == {"a": "x"}


async def test_an_unchanged_value_may_stay_wrong(api: Api, crds: Crds) -> None:
    await crds.define()
    await api.post(WIDGETS, widget(spec={"a": "too long"}))
    await crds.set_schema("/properties/spec/properties/a/maxLength", 3)
    assert (await api.patch(f"{WIDGETS}/w", {"metadata": {"labels": {"x": "y"}}})).code == 200
    assert (await api.patch(f"{WIDGETS}/w", {"spec": {"a": "longer still"}})).code == 422


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("1.0", "1"), ("1e3", "1000"), ("9007199254740993", "9007199254740993"), ("2.5", "2.5"), ("-0.0", "0")],
)
async def test_numbers_are_kept_as_the_original_keeps_them(
    sent: str, kept: str, api: Api, crds: Crds
) -> None:
    await crds.define(version(schema=spec_schema(n={"type": "number"})))
    body = orjson.dumps(widget(spec={"n": None})).replace(b"null", sent.encode())
    reply = await api.post(WIDGETS, body)
    assert b'"spec":{"n":%b}' % kept.encode() in reply.content


async def test_a_status_has_an_endpoint_of_its_own(api: Api, crds: Crds) -> None:
    await crds.define(
        version(
            schema={**spec_schema(), "x-kubernetes-preserve-unknown-fields": True},
            subresources={"status": {}},
        )
    )
    created = await api.post(WIDGETS, widget(status={"s": 1}))
    assert "status" not in created.body
    assert (await api.patch(f"{WIDGETS}/w/status", {"status": {"s": 2}})).body["status"] == {"s": 2}
    assert (await api.patch(f"{WIDGETS}/w", {"status": {"s": 3}})).body["status"] == {"s": 2}


async def test_printer_columns_are_shown(api: Api, crds: Crds) -> None:
    columns = [{"name": "A", "type": "string", "jsonPath": ".spec.a"}]
    await crds.define(version(additionalPrinterColumns=columns))
    await api.post(WIDGETS, widget(spec={"a": "x"}))
    table = (await api.get(WIDGETS, headers=TABLE)).body
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "A"]
    assert table["rows"][0]["cells"] == ["w", "x"]


async def test_a_selector_finds_a_default_that_is_not_stored(api: Api, crds: Crds) -> None:
    await crds.define(version(selectableFields=[{"jsonPath": ".spec.a"}]))
    await api.post(WIDGETS, widget(spec={}))
    await crds.set_schema("/properties/spec/properties/a/default", "dflt")
    found = await api.get(f"{WIDGETS}?fieldSelector=spec.a%3Ddflt")
    assert [one["metadata"]["name"] for one in found.body["items"]] == ["w"]


async def test_rules_hold(api: Api, crds: Crds) -> None:
    rule = {"rule": "self.a != 'bad'", "message": "not this one"}
    schema = spec_schema(a={"type": "string", "maxLength": 10})
    schema["properties"]["spec"]["x-kubernetes-validations"] = [rule]
    await crds.define(version(schema=schema))
    refused = await api.post(WIDGETS, widget(spec={"a": "bad"}))
    assert refused.message == f'Widget.{GROUP} "w" is invalid: spec: Invalid value: not this one'


@pytest.mark.parametrize("wrong", ["text", 5, [1], True])
async def test_a_value_of_another_type_is_refused_not_stumbled_over(wrong: Any, api: Api, crds: Crds) -> None:
    inner = {"type": "object", "properties": {"x": {"type": "string"}}}
    listed = {
        "type": "array",
        "items": inner,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["x"],
    }
    listed = {**listed, "items": {**inner, "required": ["x"]}}
    await crds.define(
        version(schema=spec_schema(o=inner, m={"type": "object", "additionalProperties": inner}, l=listed))
    )
    for name in ("o", "m"):
        assert (await api.post(WIDGETS, widget(spec={name: wrong}))).code == 422
    assert (await api.post(WIDGETS, widget(spec={"l": wrong}))).code == 422
    assert (await api.post(WIDGETS, widget(spec=wrong))).code == 422


async def test_a_pattern_that_explodes_elsewhere_is_quick(api: Api, crds: Crds) -> None:
    await crds.define(version(schema=spec_schema(a={"type": "string", "pattern": "^(a+)+$"})))
    assert (await api.post(WIDGETS, widget(spec={"a": "a" * 50_000 + "b"}))).code == 422


async def test_a_plain_finalizer_is_warned_of(api: Api, crds: Crds) -> None:
    await crds.define()
    made = widget()
    made["metadata"]["finalizers"] = ["plain"]
    assert "prefer a domain-qualified finalizer name" in (await api.post(WIDGETS, made)).header("warning")[0]
