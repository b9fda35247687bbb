"""Watchers that resume wherever they were cut, until they are told of the fence."""

import asyncio
import json
from typing import Any, Final

import httpx

from kinepy import EventType, KeyRange, Revision, Store
from kinepy.errors import StorageUnavailable, WatchOverflow
from tests.history.faces import PREFIX
from tests.history.records import Seen, Watched
from tests.processes import configmaps

FENCE: Final = "zz-fence"
_PAUSE_S: Final = 0.05


async def follow_http(url: str, watched: Watched) -> None:
    """Watch through a server that may go and come back."""
    last = watched.after
    async with httpx.AsyncClient(
        base_url=url, timeout=httpx.Timeout(None, connect=5), trust_env=False
    ) as http:
        while True:
            try:
                async with http.stream("GET", f"{configmaps()}?watch=true&resourceVersion={last}") as stream:
                    if stream.status_code == 200:
                        async for line in stream.aiter_lines():
                            seen = _seen(json.loads(line))
                            watched.events.append(seen)
                            last = seen.revision
                            if seen.key == FENCE:
                                watched.upto = last
                                return
                    else:
                        assert stream.status_code in (429, 500, 503, 504), (
                            stream.status_code,
                            await stream.aread(),
                        )
            except httpx.TransportError:
                pass
            watched.resumes += 1
            await asyncio.sleep(_PAUSE_S)


def _seen(event: Any) -> Seen:
    assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
    metadata = event["object"]["metadata"]
    revision, value = int(metadata["resourceVersion"]), event["object"]["data"]["v"]
    return Seen(revision, event["type"], metadata["name"], value)


async def follow_store(store: Store, watched: Watched) -> None:
    """Watch a store."""
    last = watched.after
    while True:
        async with store.watch(KeyRange.prefix(PREFIX), start=Revision(last + 1)) as watch:
            try:
                async for batch in watch:
                    for event in batch.events:
                        name = event.kv.key.removeprefix(PREFIX).decode()
                        told = event.previous if event.type is EventType.DELETE else event.kv
                        value = "" if told is None else told.value.decode()
                        kind = "DELETED" if event.type is EventType.DELETE else "MODIFIED"
                        kind = "ADDED" if event.is_create else kind
                        watched.events.append(Seen(event.revision, kind, name, value))
                        last = event.revision
                        if name == FENCE:
                            watched.upto = last
                            return
                    last = max(last, batch.progress)
            except (StorageUnavailable, WatchOverflow):
                pass
        watched.resumes += 1
        await asyncio.sleep(_PAUSE_S)
