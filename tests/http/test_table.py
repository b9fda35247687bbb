"""Tables and partial metadata show what the original shows."""

# ruff: noqa: E501 -- recorded texts stand on one line

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.errors import StatusError
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.durations import human_duration, since
from kinepy_server.resources.resource import Resource
from kinepy_server.wire.partial import PARSED_BYTES_MAX, partial_list_head, partial_object
from kinepy_server.wire.table import (
    cells_of,
    column_definitions,
    include_object,
    name_and_created,
    row_bytes,
    table_bytes,
)

NOW = 1767225600.0  # 2026-01-01T00:00:00Z
M, H, D = 60, 3600, 86400
META = "meta.k8s.io/v1"


def resource(plural: str, group: str = "") -> Resource:
    found = builtin_registry().lookup(group, "v1", plural)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"), (-1, "0s"), (0.9, "0s"), (119, "119s"), (120, "2m"), (121, "2m1s"), (10 * M - 1, "9m59s"),
        (10 * M + 1, "10m"), (3 * H - 1, "179m"), (3 * H, "3h"), (3 * H + M, "3h1m"), (8 * H + M, "8h"), (48 * H - 1, "47h"),
        (48 * H, "2d"), (49 * H, "2d1h"), (8 * D, "8d"), (730 * D - 1, "729d"), (730 * D, "2y"), (731 * D, "2y1d"), (2920 * D, "8y"),
    ],
)  # fmt: skip
def test_an_age_is_told_in_at_most_two_units(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def test_an_age_without_a_time_is_unknown() -> None:
    assert since(None, NOW) == "<unknown>"
    assert since("2025-12-31T23:59:55Z", NOW) == "5s"


OLD = {"name": "obj1", "creationTimestamp": "2025-12-31T23:59:55Z"}


@pytest.mark.parametrize(
    ("plural", "group", "value", "cells"),
    [
        ("configmaps", "", {"data": {"a": "1", "b": "2"}, "binaryData": {"c": "Yg=="}}, ["obj1", 3, "5s"]),
        ("secrets", "", {"data": {"a": "Yg=="}, "type": "Opaque"}, ["obj1", "Opaque", 1, "5s"]),
        ("namespaces", "", {"status": {"phase": "Terminating"}}, ["obj1", "Terminating", "5s"]),
        ("serviceaccounts", "", {"secrets": [{"name": "a"}]}, ["obj1", "5s"]),
        ("leases", "coordination.k8s.io", {"spec": {"holderIdentity": "h"}}, ["obj1", "h", "5s"]),
        ("leases", "coordination.k8s.io", {"spec": {}}, ["obj1", "", "5s"]),
        ("events", "", {
            "count": 4, "message": " m ", "reason": "R", "source": {"component": "k", "host": "h"}, "type": "Normal",
            "involvedObject": {"fieldPath": "spec.containers{c}", "kind": "Pod", "name": "p"},
        }, ["<unknown>", "Normal", "R", "pod/p", "spec.containers{c}", "k, h", "m", "<unknown>", 4, "obj1"]),
        ("events", "events.k8s.io", {
            "eventTime": "2025-12-31T23:59:00.000000Z", "note": "n", "reason": "r", "regarding": {"kind": "Pod", "name": "p"},
            "reportingController": "a/b", "reportingInstance": "i", "type": "Normal",
            "series": {"count": 7, "lastObservedTime": "2025-12-31T23:59:50.000000Z"},
        }, ["10s", "Normal", "r", "pod/p", "", "a/b, i", "n", "60s", 7, "obj1"]),
    ],
)  # fmt: skip
def test_cells_are_those_of_the_original(plural: str, group: str, value: Any, cells: list[Any]) -> None:
    assert list(cells_of(resource(plural, group), {"metadata": OLD, **value}, NOW)) == cells


@pytest.mark.parametrize("of", builtin_registry().all(), ids=lambda of: of.qualified)
def test_a_bookmark_has_cells_too(of: Resource) -> None:
    cells = cells_of(of, {"metadata": {"resourceVersion": "7"}}, NOW)
    assert len(cells) == len(of.columns or name_and_created())
    assert ("<unknown>" in cells) == any(column.name == "Age" for column in of.columns) or "Last Seen" in {
        column.name for column in of.columns
    }


def test_a_table_has_definitions_once() -> None:
    of = resource("configmaps")
    table = json.loads(
        table_bytes(of, [row_bytes(["a", 0, "5s"])], metadata=b'{"resourceVersion":"7"}', api_version=META)
    )
    assert list(table) == ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert all(column["description"] for column in table["columnDefinitions"])
    assert table["rows"] == [{"cells": ["a", 0, "5s"], "object": None}]
    empty = json.loads(table_bytes(of, [], metadata=b"{}", api_version=META, columns=False))
    assert (empty["columnDefinitions"], empty["rows"]) == (None, [])


def test_an_empty_table_of_a_type_without_columns_has_null_rows() -> None:
    of = resource("roles", "rbac.authorization.k8s.io")
    assert json.loads(table_bytes(of, [], metadata=b"{}", api_version=META))["rows"] is None


def test_types_without_columns_show_name_and_creation() -> None:
    names = [column["name"] for column in orjson.loads(column_definitions(()))]
    assert names == ["Name", "Created At"]


def test_what_rows_include_is_one_of_three() -> None:
    assert [include_object(text) for text in ("", "Metadata", "None", "Object")] == [
        "Metadata",
        "Metadata",
        "None",
        "Object",
    ]
    with pytest.raises(StatusError) as caught:
        include_object("Everything")
    assert caught.value.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Everything": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


TEXTS = st.text('a}{"\\:é\n', min_size=1, max_size=6)


@given(st.dictionaries(TEXTS, TEXTS), st.booleans())
def test_partial_metadata_is_cut_out_exactly(annotations: dict[str, str], large: bool) -> None:
    metadata = {"annotations": annotations, "name": "a"}
    obj = {"data": {"k": "}" * (PARSED_BYTES_MAX if large else 1)}}
    head = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{'
    stored = head + orjson.dumps(metadata)[1:] + b"," + orjson.dumps(obj)[1:]
    shown = orjson.loads(partial_object(stored, revision=7, api_version=META))
    assert shown == {
        "kind": "PartialObjectMetadata",
        "apiVersion": META,
        "metadata": {"resourceVersion": "7", **metadata},
    }


def test_a_list_of_partial_metadata_is_its_head_and_its_items() -> None:
    shown = orjson.loads(partial_list_head(b"{}", api_version=META) + b"{}]}")
    assert shown == {"kind": "PartialObjectMetadataList", "apiVersion": META, "metadata": {}, "items": [{}]}
