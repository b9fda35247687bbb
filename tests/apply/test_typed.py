"""What is wrong with an applied configuration is told as the original tells it."""

from typing import Any

import pytest

from kinepy_server.apply.elements import path_text
from kinepy_server.apply.typed import NotTyped, check_typed
from kinepy_server.schema.types import Kind, Property, Type
from tests.apply.shapes import KEY, TEXT, atomic_list, keyed, map_of, object_of, set_of_texts

NUMBER = Type(Kind.INTEGER, "int32", format="int32")
ROOT = object_of(
    {
        "text": TEXT,
        "number": NUMBER,
        "flag": Type(Kind.BOOLEAN, "bool"),
        "port": Type(Kind.INT_OR_STRING, "intstr.IntOrString"),
        "tags": set_of_texts(),
        "items": keyed({"a": NUMBER}),
        "plain": atomic_list(),
        "labels": map_of(TEXT),
        "free": Type(Kind.ANY, "runtime.RawExtension", map_type="atomic"),
    }
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"nope": 1}, ".nope: field not declared in schema"),
        ({"text": 1}, ".text: expected string, got &value.valueUnstructured{Value:1}"),
        (
            {"text": {"b": [True, None]}},
            ".text: expected string, got &value.valueUnstructured{Value:"
            'map[string]interface {}{"b":[]interface {}{true, interface {}(nil)}}}',
        ),
        ({"number": "x"}, ".number: expected numeric (int or float), got string"),
        ({"number": True}, ".number: expected numeric (int or float), got bool"),
        ({"flag": "yes"}, ".flag: expected boolean, got &{yes}"),
        ({"port": {}}, ".port: expected any scalar, got &{map[]}"),
        ({"labels": "x"}, ".labels: expected map, got &{x}"),
        (
            {"labels": {"a": 10000000}},
            ".labels.a: expected string, got &value.valueUnstructured{Value:1e+07}",
        ),
        ({"plain": {"a": 1}}, ".plain: expected list, got &{map[a:1]}"),
        ({"plain": [1]}, ".plain[0]: expected string, got &value.valueUnstructured{Value:1}"),
        ({"tags": ["d", "d"]}, '.tags: duplicate entries for key [="d"]'),
        (
            {"tags": [None]},
            ".tags: element 0: associative list without keys has an element that's an explicit null",
        ),
        (
            {"items": [{"a": 1}]},
            '.items: element 0: associative list with keys has an element that omits all key fields ["key"]'
            " (and doesn't have default values for any key fields)",
        ),
        ({"items": [{KEY: "x"}, {KEY: "x"}]}, '.items: duplicate entries for key [key="x"]'),
        (
            {"items": [{KEY: "x", "a": "y"}]},
            '.items[key="x"].a: expected numeric (int or float), got string',
        ),
        (
            {"nope": 1, "text": True},
            "errors:\n  .nope: field not declared in schema\n"
            "  .text: expected string, got &value.valueUnstructured{Value:true}",
        ),
    ],
)
def test_problems(value: Any, text: str) -> None:
    with pytest.raises(NotTyped) as refused:
        check_typed(ROOT, value)
    assert str(refused.value) == text


def test_nulls_and_whatever_no_schema_describes_are_fine() -> None:
    check_typed(ROOT, {"text": None, "tags": None, "labels": {"a": None}, "free": {"a": [1]}, "port": "http"})


def test_a_default_stands_in_for_a_missing_key() -> None:
    items = object_of({"port": NUMBER})
    protocol = Property("protocol", TEXT, pointer=False, omit_empty=True, omit_zero=False, default="TCP")
    items.properties = {**items.properties, "protocol": protocol}
    ports = Type(Kind.LIST, "list", items=items, list_type="map", list_map_keys=("port", "protocol"))
    with pytest.raises(NotTyped, match=r'^\.ports: duplicate entries for key \[port=80,protocol="TCP"\]$'):
        check_typed(object_of({"ports": ports}), {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]})


def test_paths_are_written_as_the_original_writes_them() -> None:
    path = ("f:spec", 'k:{"port":1,"protocol":"TCP"}', "f:name", 'v:"x"', "i:0")
    assert path_text(path) == '.spec[port=1,protocol="TCP"].name[="x"][0]'
