"""Very many definitions cost little more than their bytes until somebody uses them."""

from pathlib import Path

from bench.many_definitions import provider_schema
from tests.custom.definitions import DEFINITIONS, Crds, definition, version
from tests.custom.test_processes import process
from tests.http.writing import Api

COUNT = 120


async def _define(api: Api) -> None:
    one = version(schema=provider_schema(20_000), subresources={"status": {}})
    for index in range(COUNT):
        made = definition(one, plural=f"t{index}s", kind=f"T{index}", group=f"g{index // 10}.example.com")
        assert (await api.post(DEFINITIONS, made)).code == 201
    last = f"t{COUNT - 1}s.g{(COUNT - 1) // 10}.example.com"
    await Crds(api).wait_for(last, lambda reply: b"InitialNamesAccepted" in reply.content)


def _read_schemas(api: Api) -> list[str]:
    """The resources whose schema was read."""
    found = [one for one in api.app.context.registry.all() if one.shape is not None]
    assert len(found) == COUNT
    return [one.plural for one in found if "structural" in vars(one.shape)]


async def test_a_schema_is_not_read_before_it_is_needed(tmp_path: Path) -> None:
    async with process(tmp_path / "db") as api:
        await _define(api)
        assert _read_schemas(api) == []
    async with process(tmp_path / "db") as api:
        assert _read_schemas(api) == []
        assert (await api.get("/apis/g3.example.com/v1/t31s")).body["items"] == []
        assert (await api.get("/apis")).code == 200
        assert _read_schemas(api) == []
        obj = {"apiVersion": "g3.example.com/v1", "kind": "T31", "metadata": {"name": "a"}, "spec": {}}
        made = await api.post("/apis/g3.example.com/v1/namespaces/default/t31s", obj)
        assert made.code == 422, "forProvider is required"
        assert _read_schemas(api) == ["t31s"]
