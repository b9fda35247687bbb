"""Selections: grammar of field selectors, what they match, and that short cuts decide as the whole object does."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy_server.errors import StatusError
from kinepy_server.read.selectors.fields import FieldSelectorError, FieldTerm, parse_fields
from kinepy_server.read.selectors.selection import Selection, compile_selection, labels_of
from kinepy_server.resources.resource import Resource
from tests.http.reading import object_of, record, resource

CONFIGMAPS, SECRETS, NAMESPACES = resource(), resource("secrets"), resource("namespaces")
EVENTS, NEW_EVENTS = resource("events"), resource("events", "events.k8s.io")
TEXT = st.text(max_size=6)
TRICKY = st.sampled_from((',"labels":{', '"uid":"x"', ',"uid":"', '{"labels":{"a":"b"}}', "labels", "uid"))


def fields(text: str, kind: Resource = CONFIGMAPS, namespace: str = "ns") -> Selection:
    return compile_selection(kind, namespace, labels="", fields=text)


def selected(selection: Selection, kind: Resource, obj: dict[str, Any]) -> bool:
    kv = record(kind, obj)
    return kv.key in selection.range and (selection.matches is None or selection.matches(kv))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a=b", [FieldTerm("a", "b", True)]),
        ("a==b,", [FieldTerm("a", "b", True)]),
        (",c!=,a=b", [FieldTerm("a", "b", True), FieldTerm("c", "", False)]),
        (r"a=b\,c\=d\\", [FieldTerm("a", "b,c=d\\", True)]),
    ],
)
def test_field_terms_are_read_with_their_escapes(text: str, terms: list[FieldTerm]) -> None:
    assert parse_fields(text) == terms


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "invalid selector: 'abc'; can't understand 'abc'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_a_bad_field_selector_is_told_in_the_original_words(text: str, message: str) -> None:
    with pytest.raises(FieldSelectorError) as caught:
        parse_fields(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("kind", "label", "message"),
    [
        (CONFIGMAPS, "data.x", '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        (SECRETS, "data", "field label not supported: data"),
        (NAMESPACES, "metadata.namespace", "field label not supported: metadata.namespace"),
        (NEW_EVENTS, "involvedObject.kind", "field label not supported: involvedObject.kind"),
        (CONFIGMAPS, " metadata.name ", '" metadata.name " is not a known field selector: only "metadata.name",'
         ' "metadata.namespace"'),
    ],
)  # fmt: skip
def test_an_unknown_field_is_refused_as_its_type_does(kind: Resource, label: str, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        fields(f"{label}=x", kind)
    assert (caught.value.code, caught.value.message) == (400, message)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("metadata.name=a", True),
        ("metadata.name!=a", False),
        ("metadata.name!=b", True),
        ("metadata.name=a,metadata.name=b", False),
        ("metadata.name=", False),
        ("metadata.namespace=ns", True),
        ("metadata.namespace=other", False),
        ("metadata.namespace!=other", True),
        ("metadata.namespace=", False),
    ],
)
def test_names_and_namespaces_are_selected_by_key(text: str, matches: bool) -> None:
    obj = object_of(CONFIGMAPS, "a")
    assert selected(fields(text), CONFIGMAPS, obj) == matches
    assert selected(fields(text, namespace=""), CONFIGMAPS, obj) == matches


def test_a_name_within_a_namespace_is_a_read_of_one_key() -> None:
    selection = fields("metadata.name=a")
    assert selection.range.is_single
    assert selection.matches is None


def test_a_path_name_that_the_selector_contradicts_is_refused() -> None:
    with pytest.raises(StatusError) as caught:
        compile_selection(CONFIGMAPS, "ns", labels="", fields="metadata.name=b", name="a")
    assert caught.value.message == "fieldSelector metadata.name doesn't match requested name"


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("involvedObject.kind=Pod,involvedObject.name=p", True),
        ("involvedObject.kind=Node", False),
        ("involvedObject.uid=", True),
        ("reason!=Started", False),
        ("type=", True),
        ("source=rc", True),
        ("source=", False),
    ],
)
def test_event_fields_compare_as_text_and_absent_ones_as_empty(text: str, matches: bool) -> None:
    involved = {"kind": "Pod", "name": "p"}
    obj = {
        **object_of(EVENTS, "e"),
        "involvedObject": involved,
        "reason": "Started",
        "reportingComponent": "rc",
    }
    assert selected(fields(text, EVENTS), EVENTS, obj) == matches


def test_events_are_selected_by_the_names_of_the_group_that_is_asked() -> None:
    obj = {**object_of(EVENTS, "e"), "involvedObject": {"kind": "Pod"}}
    assert selected(fields("regarding.kind=Pod", NEW_EVENTS), EVENTS, obj)


@given(
    st.one_of(
        st.none(), st.dictionaries(st.sampled_from("abc"), st.sampled_from(("", "x", "y")), min_size=1)
    ),
    st.dictionaries(st.one_of(TRICKY, TEXT), st.one_of(TRICKY, TEXT), max_size=3),
    st.dictionaries(st.one_of(TRICKY, TEXT), st.one_of(TRICKY, TEXT), max_size=3),
)
def test_labels_cut_out_of_the_bytes_are_the_labels(
    labels: dict[str, str] | None, annotations: dict[str, str], data: dict[str, str]
) -> None:
    obj = {**object_of(CONFIGMAPS, "a", annotations=annotations, labels=labels), "data": data}
    obj["spec"] = {"template": {"metadata": {"labels": {"inner": "1"}, "uid": "u"}, "labels": {"z": "1"}}}
    value = record(CONFIGMAPS, obj).value
    assert labels_of(value) == (orjson.loads(value)["metadata"].get("labels") or {})


@given(
    st.dictionaries(st.sampled_from("ab"), st.sampled_from(("", "x", "y"))),
    st.sampled_from(("a", "!a", "a=x", "a!=x", "a in (x,y)", "a notin (x)", "a=x,b", "a=,!b")),
    st.sampled_from(("x", 'say "a":"x"', "y")),
)
def test_a_selection_decides_as_the_parsed_object_would(labels: dict[str, str], text: str, note: str) -> None:
    from kinepy_server.read.selectors.labels import parse_labels

    obj = {**object_of(CONFIGMAPS, "n", labels=labels), "data": {"a": note}}
    selection = compile_selection(CONFIGMAPS, "ns", labels=text, fields="")
    selector = parse_labels(text)
    assert selector is not None
    assert selected(selection, CONFIGMAPS, obj) == selector.matches(labels)
