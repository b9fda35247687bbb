"""Printer columns: what each type shows of which value, and which paths lead where."""

from typing import Any

import pytest

from kinepy_server.custom.columns import printed
from kinepy_server.custom.jsonpath import BadPath, Unfollowable, parse_jsonpath

NOW = 1_577_836_800.0
"""2020-01-01T00:00:00Z"""
READY, FAILED = {"type": "Ready", "status": "True", "n": 3}, {"type": "Failed", "status": "False", "n": 5}
OBJECT = {
    "metadata": {"name": "w", "annotations": {"a.b/c": "dotted"}},
    "spec": {"list": [READY, FAILED], "numbers": [1, 2, 3], "nothing": None, "map": {"b": 2, "a": "<1>"}},
}


def shown(kind: str, value: Any) -> Any:
    """What a column of a type shows of a value."""
    _, cells = printed([{"name": "V", "type": kind, "jsonPath": ".v"}])
    return cells({"metadata": {"name": "w"}, "v": value}, NOW)[1]


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("string", "text", "text"),
        ("string", 5, "5"),
        ("string", 1.5, "1.5"),
        ("string", True, "true"),
        ("string", None, "<no value>"),
        ("string", {"b": 1, "a": "<&>"}, r'{"a":"\u003c\u0026\u003e","b":1}'),
        ("string", ["x", 1], '["x",1]'),
        ("integer", 5, 5),
        ("integer", 5.9, 5),
        ("integer", "5", None),
        ("integer", True, None),
        ("number", 2.5, 2.5),
        ("number", 2, 2),
        ("number", "2", None),
        ("boolean", False, False),
        ("boolean", "false", None),
        ("date", "2019-12-31T23:00:00Z", "60m"),
        ("date", "2019-12-31T23:00:00+00:00", "60m"),
        ("date", "2019-12-31", "<invalid>"),
        ("date", "", "<unknown>"),
        ("date", 5, None),
        ("date", None, None),
    ],
)
def test_a_cell_shows_a_value_by_the_type_of_its_column(kind: str, value: Any, cell: Any) -> None:
    found = shown(kind, value)
    assert (found, type(found)) == (cell, type(cell))


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".spec.numbers[0]", [1]),
        (".spec.numbers[-1]", [3]),
        (".spec.numbers[1:]", [2, 3]),
        (".spec.numbers[0:3:2]", [1, 3]),
        (".spec.numbers[0,2]", [1, 3]),
        (".spec.numbers[*]", [1, 2, 3]),
        (".spec.list[*].type", ["Ready", "Failed"]),
        ('.spec.list[?(@.type=="Ready")].status', ["True"]),
        (".spec.list[?(@.type=='Ready')].status", ["True"]),
        (".spec.list[?(@.type!='Ready')].status", ["False"]),
        (".spec.list[?(@.n>=5)].type", ["Failed"]),
        (".spec.list[?(@.type)].n", [3, 5]),
        (r".metadata.annotations.a\.b/c", ["dotted"]),
        (r".metadata.annotations['a\.b/c']", ["dotted"]),
        (".spec.map.*", ["<1>", 2]),
        (".spec..n", [3, 5]),
        (".spec.missing.deeper", []),
        (".spec.nothing", [None]),
        (".spec.map.a.deeper", []),
        (".spec.numbers[1:1]", []),
    ],
)
def test_a_path_leads_to_values(path: str, values: list[Any]) -> None:
    assert parse_jsonpath(path)(OBJECT) == values


@pytest.mark.parametrize(
    "path",
    [
        ".spec.numbers[7]",
        ".spec.map[0]",
        ".spec.map[?(@.a)]",
        ".spec.list[?(@.missing=='x')]",
        ".spec.list[?(@.n=='3')]",
        ".spec word",
        "..a" * 12,
    ],
)
def test_a_path_that_does_not_fit_an_object_shows_nothing(path: str) -> None:
    nested: Any = {"x": 1}
    for _ in range(12):
        nested = {"a": nested, "b": nested}
    with pytest.raises(Unfollowable):
        parse_jsonpath(path)(OBJECT if path.startswith(".spec") else nested)
    _, cells = printed([{"name": "V", "type": "string", "jsonPath": path}])
    assert cells(OBJECT, NOW) in (["w", None], ("w", None)) or not path.startswith(".spec")


@pytest.mark.parametrize("path", [".spec[", ".spec[x]", ".spec[?(@.a", ".a....b", ".a[#]", ".a[0'"])
def test_a_path_that_cannot_be_read_ends_the_columns(path: str) -> None:
    with pytest.raises(BadPath):
        parse_jsonpath(path)
    good = {"name": "A", "type": "string", "jsonPath": ".spec.numbers[0]"}
    columns, cells = printed([good, {"name": "B", "type": "string", "jsonPath": path}, good])
    assert [column.name for column in columns] == ["Name", "A"]
    assert list(cells(OBJECT, NOW)) == ["w", "1"]
