"""Descriptions of many definitions are made piece by piece, and nothing is kept for them but what is answered."""

from collections.abc import Iterator

import orjson
import pytest

from bench.many_definitions import provider_schema
from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.openapi import openapi_pages
from kinepy_server.openapi_pieces import encoded, joined
from kinepy_server.openapi_schemas import components
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import Resource
from tests.custom.definitions import DEFINITIONS, Crds, definition, version
from tests.http.writing import api_over

COUNT = 5


@pytest.mark.parametrize("path", ["/openapi/v3", "/openapi/v3/apis/example.com/v1", "/openapi/v2"])
async def test_a_schema_is_not_kept_because_it_was_described(path: str) -> None:
    async with open_store("sqlite:///:memory:") as store:
        context = Context(store, builtin_registry())
        async with api_over(context, pages=openapi_pages()) as api:
            for index in range(COUNT):
                made = definition(
                    version(schema=provider_schema(5_000)), plural=f"t{index}s", kind=f"T{index}"
                )
                assert (await api.post(DEFINITIONS, made)).code == 201
            last = f"t{COUNT - 1}s.example.com"
            await Crds(api).wait_for(last, lambda reply: b"InitialNamesAccepted" in reply.content)
            assert (await api.get(path)).code == 200
        shapes = [one.shape for one in context.registry.all() if one.shape is not None]
    assert len(shapes) == COUNT
    assert not any("structural" in vars(shape) for shape in shapes)


def test_descriptions_are_made_one_by_one() -> None:
    taken: list[Resource] = []

    def resources() -> Iterator[Resource]:
        for resource in builtin_registry().all():
            taken.append(resource)
            yield resource

    described = components(resources(), ())
    next(described)
    assert len(taken) < 5 < len(builtin_registry().all())


@pytest.mark.parametrize("value", [{}, {"b": {"z": [1], "a": 'x"'}, "a": None, 'q"é': {}}])
def test_pieces_make_the_same_document(value: dict[str, object]) -> None:
    whole = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    assert joined(encoded(value.items())) == whole
    assert joined({"in": encoded(value.items()), "out": b"1"}) == b'{"in":%b,"out":1}' % whole
