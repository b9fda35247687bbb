"""Following objects of the host: a list, then a watch, and anew whatever happens."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from kinepy.clock import Clock
from kinepy_server.auth.delegated.host import JSON, Host, HostError
from kinepy_server.objects.metadata import is_named

_log = logging.getLogger("kinepy.delegation")
PARTIAL: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
PAGE_OBJECTS: Final = 500
WATCH_S: Final = 300
SHORT_S: Final = 1.0
PAUSE_FIRST_S: Final = 0.8
PAUSE_MAX_S: Final = 30.0

_CHANGES: Final = frozenset(("ADDED", "MODIFIED", "DELETED"))

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listener:
    """Who hears of the objects."""

    state: Callable[[Iterable[Json]], None]
    """All there are."""
    changed: Callable[[Json], None]
    gone: Callable[[Json], None]


class Follower:
    """Keeps a listener in step with a collection of the host. Of objects with `metadata_only` no more is told."""

    def __init__(
        self, host: Host, path: str, listener: Listener, *, selector: str = "", metadata_only: bool = False
    ) -> None:
        self.path = path
        self._host, self._listener = host, listener
        self._selector, self._metadata_only = selector, metadata_only
        self._version = ""

    async def read(self) -> None:
        """Tell all there are. Raises `HostError`."""
        found: list[Json] = []
        more: dict[str, str] = {}
        while True:
            page = await self._host.get(
                self._target(limit=str(PAGE_OBJECTS), **more), accept=self._accept("List")
            )
            items, metadata = page.get("items") or [], page.get("metadata") or {}
            if not (isinstance(items, list) and all(map(is_named, items)) and isinstance(metadata, dict)):
                raise HostError("the host's list holds what is no object")
            found += items
            if not metadata.get("continue"):
                break
            more = {"continue": str(metadata["continue"])}
        self._version = str(metadata.get("resourceVersion") or "")
        self._listener.state(found)

    async def run(self, *, clock: Clock, random: Random) -> None:
        """Follow from what was read, until cancelled."""
        pause_s = PAUSE_FIRST_S
        while True:
            began = clock.monotonic()
            try:
                if not self._version:
                    await self.read()
                if not await self._watch() and clock.monotonic() - began < SHORT_S:
                    # As the original's clients: whoever ends every watch at once is not asked again at once.
                    raise HostError("very short watch: it ended at once, and told nothing")
                pause_s = PAUSE_FIRST_S
            except HostError as error:
                _log.warning("%s of the host cannot be followed for the moment: %s", self.path, error)
                if error.code:
                    # Expired, or of a past that the host does not have (any more): a list is right whatever it was.
                    self._version = ""
                if clock.monotonic() - began > PAUSE_MAX_S:
                    pause_s = PAUSE_FIRST_S
                await clock.sleep(pause_s * (1 + random.random()))
                pause_s = min(2 * pause_s, PAUSE_MAX_S)

    async def _watch(self) -> bool:
        """Follow until the host ends it; whether it has told anything."""
        target = self._target(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=self._version,
            timeoutSeconds=str(WATCH_S),
        )
        told = False
        async for line in self._host.lines(target, accept=self._accept(""), limit_s=WATCH_S):
            told = True
            self._take(line)
        return told

    def _take(self, line: bytes) -> None:
        try:
            event = orjson.loads(line)
            kind, obj = str(event["type"]), event["object"]
            if kind == "ERROR":
                raise HostError(obj.get("message", "the watch failed"), code=obj.get("code", 0))
            version = str(obj["metadata"]["resourceVersion"])
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            raise HostError("the host's watch told what is no event") from None
        if kind in _CHANGES and not is_named(obj):
            raise HostError("the host's watch told of what is no object")
        if kind in ("ADDED", "MODIFIED"):
            self._listener.changed(obj)
        elif kind == "DELETED":
            self._listener.gone(obj)
        self._version = version

    def _target(self, **parameters: str) -> str:
        if self._selector:
            parameters["fieldSelector"] = self._selector
        return f"{self.path}?{urlencode(parameters)}"

    def _accept(self, suffix: str) -> str:
        return f"{PARTIAL.format(suffix)},{JSON}" if self._metadata_only else JSON
