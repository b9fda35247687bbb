"""Creating custom objects beside ConfigMaps of the same size, by the processor time of the application alone.

The schema has 60 fields and two rules.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from bench.table import Row
from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.custom.strategy import CustomStrategy
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.schema.structural import Structural
from tests.custom.definitions import WIDGETS, Crds, spec_schema, version, widget
from tests.http.writing import CONFIGMAPS, Api, api_over, configmap

ROUNDS, OBJECTS = 5, 100
VALIDATIONS = 5000
"""A second: 200 microseconds each."""
KINDS: tuple[tuple[dict[str, Any], Any], ...] = (
    ({"type": "string", "maxLength": 64}, "some text of a usual length, not too short"),
    ({"type": "integer", "minimum": 0}, 5),
    ({"type": "string", "enum": ["a", "b"]}, "a"),
    ({"type": "boolean"}, True),
    ({"type": "string", "maxLength": 30, "pattern": "^[a-z]+$"}, "hello"),
    ({"type": "array", "items": {"type": "string"}}, ["p", "q", "r"]),
)
FIELDS = {f"field{index}": KINDS[index % len(KINDS)] for index in range(60)}
SPEC = {name: value for name, (_, value) in FIELDS.items()}
RULES = [{"rule": "self.field1 >= 0"}, {"rule": "self.field4 != 'bad'", "message": "not this one"}]


def measure(*, scale: float) -> list[Row]:
    """Creates per second of processor time, and the share that custom objects reach; the best of some rounds."""
    return asyncio.run(_measure(max(50, int(1000 * scale))))


async def _measure(creates: int) -> list[Row]:
    schema = spec_schema(**{name: kind for name, (kind, _) in FIELDS.items()})
    schema["properties"]["spec"]["x-kubernetes-validations"] = RULES
    data = {f"key{index}": "v" * 24 for index in range(50)}
    async with (
        open_store("sqlite:///:memory:") as store,
        api_over(Context(store, builtin_registry())) as api,
    ):
        await Crds(api).define(version(schema=schema))
        plain = custom = 0.0
        for turn in range(ROUNDS):
            names = [f"r{turn}-{index}" for index in range(creates)]
            plain = max(plain, await _rate(api, CONFIGMAPS, names, make=lambda name: configmap(name, data)))
            custom = max(custom, await _rate(api, WIDGETS, names, make=lambda name: widget(name, spec=SPEC)))
    note = "per second of processor time, one client, in memory"
    checked = _validations(schema, validations=10 * creates)
    micro = f"{1e6 / checked:.0f} us each: the schema, repeated elements and both rules"
    return [
        Row(name="application: create ConfigMap, 2 KB", per_second=plain, note=note),
        Row(name="application: create custom object, 60 fields, 2 rules", per_second=custom, note=note),
        Row(name="custom objects in percent of ConfigMaps", per_second=100 * custom / plain, target=70),
        Row(name="validate an object of 2 KB, 60 fields", per_second=checked, target=VALIDATIONS, note=micro),
    ]


def _validations(schema: dict[str, Any], *, validations: int) -> float:
    """Validations per second of processor time; the best of some rounds."""
    structural = Structural(schema)
    strategy = CustomStrategy(lambda: structural, has_status=False, replicas_errors=None)
    best = 0.0
    for _ in range(ROUNDS):
        objects = [widget(spec=_spec(turn)) for turn in range(OBJECTS)]
        before = time.process_time()
        for turn in range(validations):
            if strategy.validate_create(objects[turn % OBJECTS]):
                raise SystemExit("a valid object was refused")
        best = max(best, validations / (time.process_time() - before))
    return best


def _spec(turn: int) -> dict[str, Any]:
    """Texts that differ, since a pattern that has seen a text knows the answer, and are long enough for 2 KB."""
    made = dict(SPEC)
    for index, (name, (kind, _)) in enumerate(FIELDS.items()):
        if "pattern" in kind:
            made[name] = "".join(chr(ord("a") + (turn * 31 + index * 7 + place) % 26) for place in range(24))
        elif "maxLength" in kind:
            made[name] = f"the {index}th text of the object of turn {turn}, as long as may be"
    return made


async def _rate(api: Api, target: str, names: list[str], *, make: Callable[[str], dict[str, Any]]) -> float:
    before = time.process_time()
    for name in names:
        reply = await api.post(target, make(name))
        if reply.code != 201:
            raise SystemExit(f"a create failed: {reply.content!r}")
    return len(names) / (time.process_time() - before)
