"""What the host keeps: its namespaces, in which things are created or not, and objects that policies look at."""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote

from kinepy.clock import Clock
from kinepy_server.auth.delegated.following import Follower, Json, Listener
from kinepy_server.auth.delegated.host import Host, HostError
from kinepy_server.errors import StatusError, internal_error, not_found
from kinepy_server.objects.namespaces import terminating
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import JsonObject, Resource

PATH: Final = "/api/v1/namespaces"
MISSING_WAIT_S: Final = 0.05
"""So long news of a namespace may take that was made just before what is created in it."""


class Kept:
    """Namespaces are known from memory, and one that seems to be absent is asked for; so are other objects."""

    def __init__(self, host: Host, *, clock: Clock) -> None:
        self._host, self._clock = host, clock
        self._namespaces: dict[str, JsonObject] = {}
        listener = Listener(state=self._reset, changed=self._learn, gone=self._forget)
        self.follower = Follower(host, PATH, listener, metadata_only=True)

    async def require(self, resource: Resource, namespace: str, *, name: str) -> None:
        """Raise 404 when the namespace does not exist, 403 when it is being deleted."""
        found = self._namespaces.get(namespace)
        if found is None:
            await self._clock.sleep(MISSING_WAIT_S)
            found = self._namespaces.get(namespace)
        if found is None:
            found = await self._look_up(namespace)
        if found["metadata"].get("deletionTimestamp"):
            raise terminating(resource, namespace, name=name)

    async def namespace(self, name: str) -> JsonObject | None:
        """A namespace as far as its metadata goes; None when there is none. Raises a StatusError when that cannot be
        found out: what selects by labels must not be passed over."""
        found = self._namespaces.get(name)
        try:
            return found if found is not None else await self._look_up(name)
        except StatusError as error:
            if error.code != 404:
                raise
            return None

    async def objects(self, resource: Resource, namespace: str, name: str) -> Sequence[JsonObject]:
        """The object of a name, or all of them. Raises a StatusError when that cannot be found out."""
        root = f"/apis/{resource.group}" if resource.group else "/api"
        inside = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        path = f"{root}/{resource.version}{inside}/{resource.plural}"
        try:
            if name:
                return [await self._host.get(f"{path}/{quote(name, safe='')}")]
            items: Sequence[JsonObject] = (await self._host.get(path)).get("items") or ()
        except HostError as error:
            if name and error.code == 404:
                return []
            raise internal_error(str(error)) from None
        return items

    async def _look_up(self, namespace: str) -> JsonObject:
        try:
            return _known(await self._host.get(f"{PATH}/{quote(namespace, safe='')}"))
        except HostError as error:
            raise _missing(namespace) if error.code == 404 else internal_error(str(error)) from None

    def _reset(self, namespaces: Iterable[Json]) -> None:
        self._namespaces = {one["metadata"]["name"]: _known(one) for one in namespaces}

    def _learn(self, namespace: Json) -> None:
        self._namespaces[namespace["metadata"]["name"]] = _known(namespace)

    def _forget(self, namespace: Json) -> None:
        self._namespaces.pop(namespace["metadata"]["name"], None)


def _known(namespace: Json) -> JsonObject:
    """What is kept of a namespace."""
    metadata = {name: value for name, value in namespace["metadata"].items() if name != "managedFields"}
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}


def _missing(namespace: str) -> StatusError:
    namespaces = builtin_registry().lookup("", "v1", "namespaces")
    assert namespaces is not None, "namespaces are built in"
    return not_found(namespaces, namespace)
