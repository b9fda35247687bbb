"""Every built-in type is served, in JSON and in protobuf, with the defaults and rows that were recorded."""

from collections.abc import Iterator
from typing import Any

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.checks.compile import checker
from kinepy_server.resources.checks.tables import CHECKS
from kinepy_server.resources.defaults.compile import filler
from kinepy_server.resources.defaults.computed import COMPUTED
from kinepy_server.resources.defaults.values import VALUES
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.schema.decode import decode
from kinepy_server.schema.types import type_named
from kinepy_server.wire.protobuf import decode_message, encode_message, open_envelope, seal
from kinepy_server.wire.table import cells_of
from tests.http.reading import watching
from tests.http.types import KEYS, NOW, PEM, UID, examples, made, minimal, resource_of, sent
from tests.http.writing import Api, Reply, api_over

PROTOBUF = "application/vnd.kubernetes.protobuf"
SERVER_SET = frozenset(("<now>", "<uid>", "<clusterIP>", "<nodePort>", "<age>", "<pem>"))
JOB_UID = "batch.kubernetes.io/controller-uid"
INSTANT = 1767225600.0 + 2000
"""2000 seconds after NOW."""


class Client:
    """Speaks one of the two languages with one resource."""

    def __init__(self, api: Api, of: Resource, *, protobuf: bool) -> None:
        self._api, self._of, self._protobuf = api, of, protobuf
        root = f"/apis/{of.api_version}" if of.group else f"/api/{of.api_version}"
        scope = "/namespaces/ns1" if of.namespaced else ""
        self.path = f"{root}{scope}/{of.plural}"

    async def __call__(self, method: str, name: str = "", body: JsonObject | None = None) -> JsonObject:
        """One request, which must succeed; the object of its answer."""
        path = f"{self.path}/{name}" if name else self.path
        if not self._protobuf:
            return self._checked(await self._api(method, path, body)).body  # type: ignore[no-any-return]
        of, content = self._of, None
        if body is not None:
            # What clients of protobuf send comes from typed values: empty fields and all.
            value = decode(of.schema, body)[0]
            content = seal(of.api_version, of.kind, encode_message(of.schema, value))
        reply = await self._api(method, path, content, content_type=PROTOBUF, headers={"accept": PROTOBUF})
        envelope = open_envelope(self._checked(reply).content)
        schema = "meta.v1.Status" if envelope.kind == "Status" else of.schema
        return decode_message(schema, envelope.raw)

    async def patch(self, name: str, patch: JsonObject) -> JsonObject:
        """A merge patch."""
        return self._checked(await self._api.patch(f"{self.path}/{name}", patch)).body  # type: ignore[no-any-return]

    async def apply(self, name: str, body: JsonObject) -> JsonObject:
        """A server-side apply."""
        path = f"{self.path}/{name}?fieldManager=tests&force=true"
        reply = await self._api.patch(path, body, content_type="application/apply-patch+yaml")
        return self._checked(reply).body  # type: ignore[no-any-return]

    def _checked(self, reply: Reply) -> Reply:
        assert 200 <= reply.code < 300, reply.content
        return reply


@pytest.mark.parametrize("protobuf", [False, True], ids=["json", "protobuf"])
@pytest.mark.parametrize("key", KEYS)
async def test_every_type_is_created_read_watched_changed_and_deleted(key: str, protobuf: bool) -> None:
    of, body = resource_of(key), minimal(key)
    async with open_store("sqlite:///:memory:") as store:
        context = Context(store, builtin_registry())
        async with api_over(context) as api:
            await api.post("/api/v1/namespaces", {"metadata": {"name": "ns1"}})
            await _walk(Client(api, of, protobuf=protobuf), context, of, body)


async def _walk(client: Client, context: Context, of: Resource, body: JsonObject) -> None:
    name = body["metadata"]["name"]
    created = await client("POST", body=body)
    uid = created["metadata"]["uid"]
    read = await client("GET", name)
    assert read["metadata"]["uid"] == uid
    read["metadata"]["labels"] = {**read["metadata"].get("labels", {}), "changed": "yes"}
    updated = await client("PUT", name, read)
    assert updated["metadata"]["labels"]["changed"] == "yes"
    patched = await client.patch(name, {"metadata": {"annotations": {"patched": "yes"}}})
    assert patched["metadata"]["annotations"]["patched"] == "yes"
    assert patched["metadata"].get("generation", 1) <= 2
    labelled = {**body, "metadata": {**body["metadata"], "labels": {"applied": "yes"}}}
    applied = await client.apply(name, labelled)
    assert "tests" in {entry["manager"] for entry in applied["metadata"]["managedFields"]}
    assert name in [item["metadata"]["name"] for item in await _listed(client)]
    only = {"fieldSelector": f"metadata.name={name}"}
    async with watching(context, of, namespace="ns1" if of.namespaced else "", **only) as stream:
        kind, seen, _ = await stream.told()
        assert (kind, seen) == ("ADDED", name)
    await client("DELETE", name)


async def _listed(client: Client) -> list[Any]:
    reply = await client._api.get(client.path)
    assert reply.body["kind"] == client._of.list_kind
    return reply.body["items"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("key", "example"), examples("examples"))
def test_what_is_stored_is_what_was_recorded(key: str, example: list[JsonObject]) -> None:
    body, stored = example
    of, obj = resource_of(key), made(key, sent(key, body))
    assert not [f"{error.field}: {error.text}" for error in of.strategy.validate_create(obj)]
    if of.to_storage is not None and of.from_storage is not None:
        obj = of.from_storage(of.to_storage(obj))
    assert not list(_differences(_own(obj), _own(stored)))


def _own(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata") or {}
    parts = {part: metadata[part] for part in ("annotations", "finalizers", "labels") if metadata.get(part)}
    return {
        **{name: value for name, value in obj.items() if name not in ("apiVersion", "kind")},
        "metadata": parts,
    }


def _differences(value: Any, expected: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict) and isinstance(expected, dict):
        for name in value.keys() | expected.keys():
            yield from _differences(value.get(name, "absent"), expected.get(name, "absent"), f"{path}.{name}")
    elif isinstance(value, list) and isinstance(expected, list) and len(value) == len(expected):
        for index, pair in enumerate(zip(value, expected, strict=True)):
            yield from _differences(*pair, f"{path}[{index}]")
    elif value != expected and not _is_server_set(expected):
        yield f"{path}: {value!r} instead of {expected!r}"


def _is_server_set(expected: Any) -> bool:
    return str(expected).strip("[']") in SERVER_SET


INCOMPLETE: list[JsonObject] = [
    {"metadata": {"deletionTimestamp": "set"}, "status": {"phase": "Running", "reason": "NodeLost"}},
    {"spec": {"paramRef": {"name": "c", "parameterNotFoundAction": "Deny"}}},
]
"""Objects of rows of which a part that is shown was not recorded."""


@pytest.mark.parametrize(
    ("key", "example"), [(key, one) for key, one in examples("rows") if one[0] not in INCOMPLETE]
)
def test_a_row_shows_what_was_recorded(key: str, example: list[Any]) -> None:
    shown, cells, conditions = example
    of, obj = resource_of(key), _shown(key, shown)
    found = list(cells_of(of, obj, INSTANT))
    assert len(found) == len(cells)
    assert all(
        have == wanted or _is_of_the_moment(wanted) for have, wanted in zip(found, cells, strict=True)
    ), f"{found} instead of {cells}"
    assert (of.row_conditions(obj) if of.row_conditions else None) == conditions


def _is_of_the_moment(cell: Any) -> bool:
    return isinstance(cell, str) and ("<human" in cell or "<uid>" in cell or cell in SERVER_SET)


PLACED = {
    "1 entry": [{}],
    "set": NOW,
    "<nodePort>": 30777,
    "<uid>": UID,
}


def _shown(key: str, shown: JsonObject) -> JsonObject:
    """The object of a row: the smallest one, with the parts that were set."""
    smallest = minimal(key)
    if key == "v1/services":
        smallest.pop("spec")
    body = _merged(smallest, _placed(shown))
    status = body.pop("status", None)
    obj = made(key, body)
    obj["metadata"].pop("uid")
    for name, value in shown.get("metadata", {}).items():
        obj["metadata"][name] = _placed({name: value})[name]
    return decode(resource_of(key).schema, {**obj, "status": status})[0] if status is not None else obj


def _placed(value: Any) -> Any:
    if isinstance(value, dict):
        special = {"allocation": {}, "certificate": PEM}
        return {
            name: special[name] if member == "set" and name in special else _placed(member)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_placed(member) for member in value]
    return PLACED.get(value, PEM if value == "<pem>" else value) if isinstance(value, str) else value


def _merged(base: JsonObject, change: JsonObject) -> JsonObject:
    merged = dict(base)
    for name, value in change.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


@pytest.mark.parametrize("table", [CHECKS, VALUES, COMPUTED], ids=["checks", "values", "computed"])
def test_tables_name_only_what_there_is(table: Any) -> None:
    for schema in table:
        assert type_named(schema).properties, schema
    for schema, values in VALUES.items():
        assert values.keys() <= type_named(schema).properties.keys(), schema


@pytest.mark.parametrize("of", builtin_registry().all(), ids=lambda of: of.qualified)
def test_checks_and_defaults_of_every_type_can_be_made(of: Resource) -> None:
    for make in (checker, filler):
        made_function: Any = make(of.schema)
        assert made_function is None or callable(made_function)
