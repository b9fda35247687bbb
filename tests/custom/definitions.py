"""Definitions as the tests write them, and waiting for what comes of them."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from tests.http.writing import JSON_PATCH, Api, Reply

GROUP = "example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ROOT = f"/apis/{GROUP}/v1"
WIDGETS = f"{ROOT}/namespaces/default/widgets"
PATIENCE_S = 20.0


def spec_schema(**properties: Any) -> dict[str, Any]:
    """The schema of objects whose spec has these properties."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def version(name: str = "v1", schema: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A version of a definition; the first one is the storage version."""
    made = {"name": name, "served": True, "storage": name == "v1"}
    return {**made, "schema": {"openAPIV3Schema": schema or spec_schema(a={"type": "string"})}, **more}


def definition(
    *versions: dict[str, Any], plural: str = "widgets", kind: str = "Widget", group: str = GROUP, **spec: Any
) -> dict[str, Any]:
    """A definition as a client sends it."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": list(versions) or [version()],
            **spec,
        },
    }


def widget(name: str = "w", *, api_version: str = f"{GROUP}/v1", **members: Any) -> dict[str, Any]:
    """A custom object as a client sends it."""
    return {"apiVersion": api_version, "kind": "Widget", "metadata": {"name": name}, **members}


class Crds:
    """Defines custom resources."""

    def __init__(self, api: Api) -> None:
        self.api = api

    async def define(self, *versions: dict[str, Any], **more: Any) -> None:
        """Create a definition, and wait until it is established."""
        made = definition(*versions, **more)
        reply = await self.api.post(DEFINITIONS, made)
        assert reply.code == 201, reply.content
        await self.wait_for(made["metadata"]["name"], lambda reply: _is(reply, "Established"))

    async def set_schema(self, path: str, value: Any, *, name: str = f"widgets.{GROUP}") -> None:
        """Change the schema of the first version, and wait until this process knows."""
        target = f"/spec/versions/0/schema/openAPIV3Schema{path}"
        operation = {"op": "add", "path": target, "value": value}
        before = self.api.app.context.registry
        reply = await self.api.patch(f"{DEFINITIONS}/{name}", [operation], content_type=JSON_PATCH)
        assert reply.code == 200, reply.content
        await eventually(lambda: self.api.app.context.registry is not before)

    async def wait_for(self, name: str, is_so: Callable[[Reply], bool]) -> None:
        """Wait until a definition is as it should be."""
        async with asyncio.timeout(PATIENCE_S):
            while not is_so(await self.api.get(f"{DEFINITIONS}/{name}")):  # noqa: ASYNC110 as below
                await asyncio.sleep(0)

    async def delete(self, name: str = f"widgets.{GROUP}") -> None:
        """Delete a definition, and wait until it is gone."""
        assert (await self.api.delete(f"{DEFINITIONS}/{name}")).code == 200
        await self.wait_for(name, lambda reply: reply.code == 404)
        plural, _, group = name.partition(".")
        context = self.api.app.context
        await eventually(lambda: context.registry.lookup(group, "v1", plural) is None)


async def eventually(is_so: Callable[[], bool]) -> None:
    """Wait until something in this process is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110 nothing tells when
            await asyncio.sleep(0)


def conditions(reply: Reply) -> dict[str, tuple[str, str]]:
    """Status and reason of the conditions of a definition."""
    found = (reply.body.get("status") or {}).get("conditions") or ()
    return {one["type"]: (one["status"], one["reason"]) for one in found}


def _is(reply: Reply, kind: str) -> bool:
    return conditions(reply).get(kind, ("", ""))[0] == "True"
