"""The host's namespaces: nothing is created in one that does not exist or is being deleted."""

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from kinepy.clock import Clock
from kinepy_server.auth.delegated.following import Follower, Json, Listener
from kinepy_server.auth.delegated.host import Host, HostError
from kinepy_server.errors import StatusError, internal_error, not_found
from kinepy_server.objects.namespaces import terminating
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import Resource

PATH: Final = "/api/v1/namespaces"
MISSING_WAIT_S: Final = 0.05
"""So long news of a namespace may take that was made just before what is created in it."""


class HostNamespaces:
    """Known from memory; one that seems to be absent is asked for."""

    def __init__(self, host: Host, *, clock: Clock) -> None:
        self._host, self._clock = host, clock
        self._dying: dict[str, bool] = {}
        listener = Listener(state=self._reset, changed=self._learn, gone=self._forget)
        self.follower = Follower(host, PATH, listener, metadata_only=True)

    async def require(self, resource: Resource, namespace: str, *, name: str) -> None:
        """Raise 404 when the namespace does not exist, 403 when it is being deleted."""
        dying = self._dying.get(namespace)
        if dying is None:
            await self._clock.sleep(MISSING_WAIT_S)
            dying = self._dying.get(namespace)
        if dying is None:
            dying = await self._look_up(namespace)
        if dying:
            raise terminating(resource, namespace, name=name)

    async def _look_up(self, namespace: str) -> bool:
        try:
            return _is_dying(await self._host.get(f"{PATH}/{quote(namespace, safe='')}"))
        except HostError as error:
            raise _missing(namespace) if error.code == 404 else internal_error(str(error)) from None

    def _reset(self, namespaces: Iterable[Json]) -> None:
        self._dying = {one["metadata"]["name"]: _is_dying(one) for one in namespaces}

    def _learn(self, namespace: Json) -> None:
        self._dying[namespace["metadata"]["name"]] = _is_dying(namespace)

    def _forget(self, namespace: Json) -> None:
        self._dying.pop(namespace["metadata"]["name"], None)


def _is_dying(namespace: Json) -> bool:
    return bool(namespace["metadata"].get("deletionTimestamp"))


def _missing(namespace: str) -> StatusError:
    namespaces = builtin_registry().lookup("", "v1", "namespaces")
    assert namespaces is not None, "namespaces are built in"
    return not_found(namespaces, namespace)
