"""Which stored objects a request means, decided on keys and bytes before anything is parsed.

Names and namespaces are read from the key. For the rest, most objects that do not match are sorted out
by bytes that every matching value must hold; labels are then cut out of the bytes and parsed alone, and
only other selectable fields need the whole object.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from kinepy import KeyRange, KeyValue
from kinepy_server.errors import StatusError, bad_request
from kinepy_server.objects.codec import decode, shown_value
from kinepy_server.read.selectors.fields import FieldSelectorError, FieldTerm, parse_fields
from kinepy_server.read.selectors.labels import LabelSelector, LabelSelectorError, parse_labels
from kinepy_server.resources.resource import Resource

NAME, NAMESPACE = "metadata.name", "metadata.namespace"
_NO_LABELS: Mapping[str, str] = {}
_LABELS, _UID = b'"labels":{', b',"uid":"'
_NOT_ALWAYS_TEXT = frozenset(("true", "false"))


@dataclass(frozen=True, slots=True)
class Selection:
    """A compiled selection within a collection.

    `range` holds every key that can match. `name` is set when it holds at most one object. `matches`
    is None when everything in the range matches; then no object needs a look. `selective` says that the
    request had a selector at all.
    """

    range: KeyRange
    name: str
    matches: Callable[[KeyValue], bool] | None
    selective: bool


def compile_selection(
    resource: Resource, namespace: str, *, labels: str, fields: str, name: str = ""
) -> Selection:
    """The selection of a collection's objects; `name` is one that the path demands.

    Raises the 400 of a selector that cannot be parsed or has a label that the type does not know.
    """
    try:
        selector = parse_labels(labels) if labels else None
        terms = parse_fields(fields) if fields else ()
    except (LabelSelectorError, FieldSelectorError) as error:
        raise bad_request(str(error)) from None
    _check_labels(resource, terms)
    wanted = {term.label: term.value for term in terms if term.equal}
    if name:
        if wanted.get(NAME, name) != name:
            raise bad_request("fieldSelector metadata.name doesn't match requested name")
        terms = [*terms, FieldTerm(NAME, name, True)]
        wanted[NAME] = name
    found = _range(resource, namespace, wanted)
    single = wanted.get(NAME, "") if found.is_single else ""
    # What the range holds already needs no second look.
    sure = {
        FieldTerm(label, text, True)
        for label, text in ((NAME, single), (NAMESPACE, wanted.get(NAMESPACE)))
        if text
    }
    predicates = _predicates(resource, [term for term in terms if term not in sure], selector)
    return Selection(found, single, _conjunction(predicates), bool(terms or selector))


def _check_labels(resource: Resource, terms: Sequence[FieldTerm]) -> None:
    for term in terms:
        known = term.label in resource.field_labels or term.label == NAME
        if not known and not (term.label == NAMESPACE and resource.selects_namespace):
            raise _unknown_label(resource, term.label)


def _unknown_label(resource: Resource, label: str) -> StatusError:
    return bad_request(resource.field_label_error.format(label=label, kind=resource.kind))


def _range(resource: Resource, namespace: str, wanted: Mapping[str, str]) -> KeyRange:
    asked = wanted.get(NAMESPACE, namespace) if resource.namespaced else ""
    whole = resource.list_prefix(namespace)
    if (namespace and asked != namespace) or (not resource.namespaced and wanted.get(NAMESPACE)):
        return _nothing(whole)
    prefix = resource.list_prefix(asked)
    name = wanted.get(NAME)
    if name is None or (resource.namespaced and not asked):
        return KeyRange.prefix(prefix)
    return KeyRange.single(prefix + name.encode()) if name else _nothing(whole)


def _nothing(prefix: bytes) -> KeyRange:
    # No name holds a NUL: the range is below the collection, and empty for ever.
    return KeyRange.single(prefix + b"\x00")


def _predicates(
    resource: Resource, terms: Sequence[FieldTerm], selector: LabelSelector | None
) -> list[Callable[[KeyValue], bool]]:
    """Cheap ones first."""
    fields = [term for term in terms if term.label not in (NAME, NAMESPACE)]
    predicates = [_key_predicate(resource, term) for term in terms if term.label in (NAME, NAMESPACE)]
    # A custom object may show what is not in its bytes: a default.
    sure = _field_needles(fields) if resource.shape is None else []
    # A webhook may show other labels than are stored.
    labels = _label_needles(selector) if selector and resource.converter is None else []
    predicates += [_holds(needle) for needle in [*sure, *labels]]
    if selector is not None:
        predicates.append(_labels_predicate(resource, selector))
    if fields:
        predicates.append(_fields_predicate(resource, fields))
    return predicates


def _conjunction(predicates: Sequence[Callable[[KeyValue], bool]]) -> Callable[[KeyValue], bool] | None:
    if len(predicates) < 2:
        return predicates[0] if predicates else None

    def matches(kv: KeyValue) -> bool:
        # A loop, since `all` over a generator costs twice as much here.
        for predicate in predicates:  # noqa: SIM110
            if not predicate(kv):
                return False
        return True

    return matches


def _key_predicate(resource: Resource, term: FieldTerm) -> Callable[[KeyValue], bool]:
    value, equal = term.value.encode(), term.equal
    if term.label == NAME:
        return lambda kv: (kv.key.rpartition(b"/")[2] == value) is equal
    if not resource.namespaced:
        matching = (not value) is equal
        return lambda _: matching
    start = len(resource.list_prefix(""))
    return lambda kv: (kv.key[start : kv.key.rindex(b"/")] == value) is equal


def _holds(needle: bytes) -> Callable[[KeyValue], bool]:
    return lambda kv: needle in kv.value


def _label_needles(selector: LabelSelector) -> list[bytes]:
    """Bytes that the stored form of every matching object holds: it is canonical, so a label has one spelling."""
    needles = []
    for requirement in selector.requirements:
        key = orjson.dumps(requirement.key)
        if requirement.operator == "in" and len(requirement.values) == 1:
            needles.append(key + b":" + orjson.dumps(requirement.values[0]))
        elif requirement.operator not in ("absent", "notin"):
            needles.append(key + b":")
    return needles


def _field_needles(terms: Sequence[FieldTerm]) -> list[bytes]:
    """As for labels. A text that may stand for an absent field or for a number or boolean proves nothing."""
    return [
        orjson.dumps(term.value)
        for term in terms
        if term.equal and term.value not in _NOT_ALWAYS_TEXT and any(map(str.isalpha, term.value))
    ]


def _labels_predicate(resource: Resource, selector: LabelSelector) -> Callable[[KeyValue], bool]:
    matches = selector.matches
    if resource.converter is not None:
        return lambda kv: matches(labels_of(shown_value(resource, kv)))
    return lambda kv: matches(labels_of(kv.value))


def _fields_predicate(resource: Resource, terms: Sequence[FieldTerm]) -> Callable[[KeyValue], bool]:
    readers = [(resource.field_labels[term.label], term.value, term.equal) for term in terms]

    def matches(kv: KeyValue) -> bool:
        obj = decode(resource, kv)
        return all((read(obj) == value) is equal for read, value, equal in readers)

    return matches


def labels_of(value: bytes) -> Mapping[str, str]:
    """The labels in a stored object, without parsing the rest of it.

    metadata's members are in order, so labels come before uid, which every stored object has. Inside a
    JSON string both marks would have escaped quotes; of the members before labels only annotations can
    hold a member named like one of them, and theirs are strings. So a first `labels` before the first
    `uid` is metadata's own. In any other order the whole object is parsed.
    """
    metadata = value.index(b"{", 1)
    if value.startswith(_LABELS, metadata + 1):
        opening = metadata + len(_LABELS)
    else:
        comma = value.find(b"," + _LABELS, metadata)
        if comma < 0:
            return _NO_LABELS
        if comma > value.find(_UID, metadata):
            whole: Mapping[str, str] | None = orjson.loads(value)["metadata"].get("labels")
            return whole or _NO_LABELS
        opening = comma + len(_LABELS)
    # Neither keys nor values of labels can hold a brace.
    labels: Mapping[str, str] = orjson.loads(value[opening : value.index(b"}", opening) + 1])
    return labels
