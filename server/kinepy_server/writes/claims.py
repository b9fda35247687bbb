"""Claims of a Service on addresses and ports: keys of their own, of which only one can hold each.

A claim is made before its Service is stored. One whose Service has gone, or has something else now, can be
taken over after a while, so nothing is lost for good when a process dies between the two writes.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from kinepy import KeyValue
from kinepy.errors import KeyExists, KeyNotFound, RevisionConflict
from kinepy_server.context import Context
from kinepy_server.objects.codec import encode
from kinepy_server.objects.times import timestamp
from kinepy_server.objects.uids import new_uid
from kinepy_server.resources.resource import JsonObject, Resource

ADDRESSES, PORTS = "/registry/ipaddresses", "/registry/ranges/servicenodeports"
ACTOR = "kinepy service-addresses"
YOUNG_US = 60_000_000
"""A claim is not taken over before this age: its Service may be about to be stored."""


class Claims:
    """What one Service claims."""

    def __init__(self, context: Context, resource: Resource, service: JsonObject) -> None:
        self._context, self._store, self._resource = context, context.store, resource
        metadata = service["metadata"]
        self._owner = (metadata.get("namespace", ""), metadata["name"])

    async def address(self, address: str, *, pretend: bool) -> bool:
        """Whether the address is the Service's now, or could be."""
        return await self._claim(f"{ADDRESSES}/{address}", self._address_object(address), pretend=pretend)

    async def port(self, number: int, *, pretend: bool) -> bool:
        """Whether the node port is the Service's now, or could be."""
        claim = {**self._parent(), "since": self._now()}
        return await self._claim(f"{PORTS}/{number}", orjson.dumps(claim), pretend=pretend)

    async def give_back(self, used: set[str]) -> None:
        """Drop the claims of a Service that is gone."""
        for name in used:
            prefix = PORTS if name.isdecimal() else ADDRESSES
            claim = await self._store.get(f"{prefix}/{name}".encode(), consistent=False)
            if claim is None or not self._is_own(claim):
                continue
            try:
                await self._store.delete(claim.key, expect=claim.mod_revision, actor=ACTOR)
            except (RevisionConflict, KeyNotFound):
                # Somebody has taken it over.
                continue

    async def _claim(self, key: str, value: bytes, *, pretend: bool) -> bool:
        if pretend:
            claim = await self._store.get(key.encode())
            return claim is None or self._is_own(claim) or await self._is_left(claim)
        try:
            await self._store.create(key.encode(), value, actor=ACTOR)
        except KeyExists as found:
            return self._is_own(found.current) or await self._take_over(found.current, value)
        return True

    async def _take_over(self, claim: KeyValue, value: bytes) -> bool:
        if not await self._is_left(claim):
            return False
        try:
            await self._store.update(claim.key, value, expect=claim.mod_revision, actor=ACTOR)
        except (RevisionConflict, KeyNotFound):
            return False
        return True

    def _is_own(self, claim: KeyValue) -> bool:
        owner, _ = _read(claim)
        return (owner.get("namespace", ""), owner.get("name", "")) == self._owner

    async def _is_left(self, claim: KeyValue) -> bool:
        """Whether no Service uses what is claimed, and none is about to."""
        owner, since = _read(claim)
        if timestamp(self._context.clock.now_us() - YOUNG_US) < since:
            return False
        key = self._resource.key(owner.get("namespace", ""), owner.get("name", ""))
        service = await self._store.get(key)
        name = claim.key.decode().rpartition("/")[2]
        return service is None or name not in used_by(orjson.loads(service.value))

    def _now(self) -> str:
        return timestamp(self._context.clock.now_us())

    def _parent(self) -> JsonObject:
        namespace, name = self._owner
        return {"group": "", "resource": "services", "namespace": namespace, "name": name}

    def _address_object(self, address: str) -> bytes:
        addresses = self._context.registry.lookup("networking.k8s.io", "v1", "ipaddresses")
        assert addresses is not None, "addresses are always served"
        metadata = {
            "name": address,
            "uid": new_uid(),
            "creationTimestamp": self._now(),
            "labels": {
                "ipaddress.kubernetes.io/ip-family": "IPv4",
                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            },
        }
        return encode(addresses, {"metadata": metadata, "spec": {"parentRef": self._parent()}})


def used_by(service: JsonObject) -> set[str]:
    """The addresses and node ports of a Service."""
    spec: Mapping[str, Any] = service["spec"]
    ports = {str(port["nodePort"]) for port in spec.get("ports") or () if port.get("nodePort")}
    return ports | {address for address in spec.get("clusterIPs") or () if address != "None"}


def _read(claim: KeyValue) -> tuple[JsonObject, str]:
    """Whose a claim is, and since when."""
    value = orjson.loads(claim.value)
    if "spec" not in value:
        return value, value.get("since", "")
    return value["spec"].get("parentRef") or {}, value["metadata"].get("creationTimestamp", "")
