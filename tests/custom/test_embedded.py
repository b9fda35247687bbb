"""Resources inside of custom objects: their types and metadata are looked at as those of any object."""

from typing import Any

import pytest

from tests.custom.definitions import WIDGETS, Crds, spec_schema, version, widget
from tests.http.writing import Api

INNER = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"a": "b"}},
    "x": 1,
}


@pytest.mark.parametrize(
    ("change", "field", "text"),
    [
        ({"apiVersion": "a/b/c"}, "apiVersion", 'Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'),
        ({"apiVersion": ""}, "apiVersion", "Required value"),
        ({"kind": "No_Kind"}, "kind", 'Invalid value: "No_Kind": may have mixed case, but should otherwise match: '),
        ({"metadata": {"name": "a/b"}}, "metadata.name", "Invalid value: \"a/b\": may not contain '/'"),
        ({"metadata": {"namespace": "A"}}, "metadata.namespace", 'Invalid value: "A": a lowercase RFC 1123 label must'),
        ({"metadata": {"labels": {"a": "b c"}}}, "metadata.labels", 'Invalid value: "b c": a valid label must be'),
        ({"metadata": {"finalizers": ["x y"]}}, "metadata.finalizers", 'Invalid value: "x y": name part must consist'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", ["one", "many", "named"])
async def test_what_is_wrong_with_one_refuses_the_object(
    change: dict[str, Any], field: str, text: str, where: str, memory_api: Api
) -> None:
    lists = {"type": "array", "items": INNER}
    maps = {"type": "object", "additionalProperties": INNER}
    await Crds(memory_api).define(version(schema=spec_schema(one=INNER, many=lists, named=maps)))
    inner = {**POD, **change}
    value = {"one": inner, "many": [POD, inner], "named": {"k": inner}}[where]
    place = {"one": "spec.one", "many": "spec.many[1]", "named": "spec.named[k]"}[where]
    refused = await memory_api.post(WIDGETS, widget(spec={where: value}))
    causes = {cause["field"]: cause["message"] for cause in refused.body["details"]["causes"]}
    assert refused.code == 422
    found = causes.get(f"{place}.{field}") or causes[f"{place.replace('[k]', '.k')}.{field}"]
    assert found.startswith(text)


async def test_a_right_one_is_kept_with_what_is_unknown_in_it(api: Api, crds: Crds) -> None:
    await crds.define(version(schema=spec_schema(one=INNER)))
    made = await api.post(WIDGETS, widget(spec={"one": POD}))
    assert (made.code, made.body["spec"]["one"]) == (201, POD)
