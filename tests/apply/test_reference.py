"""For random schemas, objects and managers the product agrees with sets of paths."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinepy_server.apply.apply import Applied, apply
from kinepy_server.apply.conflicts import ApplyConflict
from kinepy_server.apply.field_set import FieldSet, has_self
from kinepy_server.apply.managed_fields import Writer, track_update
from kinepy_server.apply.typed import check_typed
from kinepy_server.schema.types import Kind, Type
from tests.apply import reference
from tests.apply.shapes import METADATA, ROOTS, OneVersion, map_of, object_of, objects

MANAGERS = ("m1", "m1", "m2")
"""Few, so that they come again and take back what they applied."""
Owners = dict[tuple[str, str], reference.Paths]


def paths_of(of: Type | None, fields: FieldSet, above: reference.Path = ()) -> set[reference.Path]:
    """A tree of the product as paths of the reference."""
    found = set()
    for element, below in fields.items():
        if element == ".":
            continue
        path, inner = _step(of, element, above)
        if has_self(below):
            found.add(path)
        found |= paths_of(inner, below, path)
    return found


def _step(of: Any, element: str, above: reference.Path) -> tuple[reference.Path, Any]:
    if of.kind is Kind.OBJECT:
        return (*above, ("field", element[2:])), of.properties[element[2:]].type
    if of.kind is Kind.MAP:
        return (*above, ("entry", element[2:])), of.items
    name = element[2:].removeprefix('{"key":').removesuffix("}").strip('"')
    return (*above, ("element", name)), of.items


def owners(of: Type, obj: Any) -> Owners:
    """Who owns what, as the product says."""
    entries = obj["metadata"].get("managedFields", ())
    return {(e["manager"], e["operation"]): frozenset(paths_of(of, e["fieldsV1"])) for e in entries}


def decoded(of: Any, value: Any) -> Any:
    """What decoding makes of nulls: members of objects go, everything else holds nothing."""
    if of.kind is Kind.OBJECT:
        members = {name: below for name, below in (value or {}).items() if below is not None}
        return {name: decoded(of.properties[name].type, below) for name, below in members.items()}
    if of.kind is Kind.MAP:
        return {name: decoded(of.items, below) for name, below in (value or {}).items()}
    return [decoded(of.items, below) for below in value or ()] if of.kind is Kind.LIST else value


class Both:
    """The product's object and the reference's state, side by side."""

    def __init__(self, of: Type) -> None:
        self.of, self.versions = of, OneVersion(of)
        self.object: Any = {"metadata": {}}
        self.flat: reference.Flat = {}
        self.owners: Owners = {}
        self.exists = False

    def writer(self, manager: str) -> Writer:
        return Writer(manager, self.versions, "", "2026-01-01T00:00:00Z")

    def update(self, manager: str, new: Any) -> None:
        track_update(new, self.object if self.exists else None, writer=self.writer(manager))
        flat = reference.flat(self.of, new)
        if self.owners or not self.exists:
            self._release(flat)
            own = (manager, "Update")
            self._own(own, self.owners.get(own, frozenset()) | reference.written(self.flat, flat))
        self.object, self.flat, self.exists = new, flat, True

    def apply(self, manager: str, config: Any, *, force: bool) -> None:
        check_typed(self.of, config)
        given = reference.flat(self.of, config)
        own, claims = (manager, "Apply"), reference.claimed(given)
        first = not self.owners
        if first:
            self._own(("before-first-apply", "Update"), frozenset(self.flat))
        others = {owner: fields for owner, fields in self.owners.items() if owner != own}
        all_paths = reference.merged(self.flat, given)
        held = frozenset().union(claims, *others.values())
        flat = reference.pruned(all_paths, self.owners.get(own, frozenset()), held)
        written = reference.written(self.flat, flat)
        conflicts = {owner: fields & written for owner, fields in others.items() if fields & written}
        applied, told = self._applied(manager, config, force=force)
        assert told == ({} if force else conflicts)
        if applied is None:
            if first:
                self.owners = {}
            return
        self._release(flat)
        self._own(own, claims)
        obj = self.object if applied.object is None else decoded(self.of, applied.object)
        metadata = {"managedFields": applied.entries} if applied.entries else {}
        self.object, self.flat = {**obj, "metadata": metadata}, reference.emptied(all_paths, flat)
        self.exists = True

    def _applied(self, manager: str, config: Any, *, force: bool) -> tuple[Applied | None, Owners]:
        """What the product makes of it: a result, or conflicts."""
        try:
            return apply(self.object, config, writer=self.writer(manager), force=force), {}
        except ApplyConflict as error:
            return None, {
                (one.entry["manager"], one.entry["operation"]): frozenset(paths_of(self.of, one.fields))
                for one in error.conflicts
            }

    def _release(self, new: reference.Flat) -> None:
        lost = reference.written(self.flat, new) | reference.removed(self.flat, new)
        for owner, fields in list(self.owners.items()):
            self._own(owner, fields - lost)

    def _own(self, owner: tuple[str, str], fields: reference.Paths) -> None:
        self.owners[owner] = fields
        if not fields:
            del self.owners[owner]

    def check(self) -> None:
        assert reference.flat(self.of, self.object) == self.flat
        assert owners(self.of, self.object) == self.owners


def test_what_stood_before_the_first_apply_is_owned_when_a_later_one_conflicts() -> None:
    maps = map_of(map_of(Type(Kind.STRING, "string")))
    both = Both(object_of({"metadata": METADATA, "a": maps}))
    values: list[Any] = [{"metadata": {}}, {"metadata": {}, "a": {}}]
    for value in values:
        both.update("m1", value)
    configs: list[Any] = [{"metadata": {}, "a": {"a": {}}}, {"metadata": {}}, {"metadata": {}, "a": {}}]
    for config in configs:
        both.apply("m1", config, force=False)
        both.check()
    assert list(both.owners) == [("before-first-apply", "Update")]


def test_an_object_whose_member_lost_all_that_it_had_is_not_lost_itself() -> None:
    inner = object_of({"a": Type(Kind.STRING, "string"), "b": map_of(Type(Kind.STRING, "string"))})
    both = Both(object_of({"metadata": METADATA, "a": inner}))
    both.update("m1", {"metadata": {}, "a": {"b": {}}})
    configs: list[Any] = [{"metadata": {}, "a": {"a": "x", "b": {"a": "x"}}}, {"metadata": {}}]
    for config in configs:
        both.apply("m1", config, force=False)
        both.check()
    assert decoded(both.of, {**both.object, "metadata": None}) == {"a": {}}


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_apply_and_update_agree_with_sets_of_paths(data: st.DataObject) -> None:
    of = data.draw(ROOTS)
    both = Both(of)
    for _ in range(data.draw(st.integers(2, 6))):
        manager, value = data.draw(st.sampled_from(MANAGERS)), data.draw(objects(of))
        if data.draw(st.integers(0, 4)):
            both.apply(manager, value, force=data.draw(st.integers(0, 2)) > 0)
        else:
            both.update(manager, value)
        both.check()
