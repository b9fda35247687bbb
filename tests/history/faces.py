"""The two ways to the store, as one: a call goes in, and what came back is noted in it."""

import json
from typing import Any, Final, Protocol

from kinepy import KeyRange, Revision, Store
from kinepy.errors import (
    KeyExists,
    KeyNotFound,
    KinepyError,
    Overloaded,
    RevisionConflict,
    StorageUnavailable,
    StoreClosed,
    WriteOutcomeUnknown,
)
from tests.history.records import Call, Kind, Outcome
from tests.load import Answer, Connection, ConnectionLost
from tests.processes import configmap, configmaps

PREFIX: Final = b"history/"


class Face(Protocol):
    """One client of one server or store."""

    async def do(self, call: Call) -> None:
        """Do it, and note the outcome, but not the time."""
        ...

    async def close(self) -> None:
        """Let go of what it holds."""
        ...


class HttpFace:
    """Keys are ConfigMaps in the namespace `default`, values their data. Deletes do not tell their revision."""

    def __init__(self, url: str, *, timeout_s: float = 70.0) -> None:
        self._connection = Connection(url, timeout_s=timeout_s)

    async def do(self, call: Call) -> None:
        method, path, body = _request(call)
        try:
            answer = await self._connection.send(method, path, body)
        except (ConnectionLost, TimeoutError):
            return
        call.outcome = _outcome(call, answer)
        if call.outcome is Outcome.DONE:
            _note(call, answer.json())

    async def close(self) -> None:
        await self._connection.close()


def _request(call: Call) -> tuple[str, str, bytes]:
    path = configmaps() if call.kind in (Kind.CREATE, Kind.LIST) else f"{configmaps()}/{call.key}"
    if call.kind in (Kind.GET, Kind.LIST):
        return "GET", path, b""
    if call.kind is Kind.DELETE:
        options = {"apiVersion": "v1", "kind": "DeleteOptions"}
        return "DELETE", path, _json({**options, "preconditions": {"resourceVersion": str(call.expect)}})
    body = configmap(call.key, v=call.value)
    if call.kind is Kind.CREATE:
        return "POST", path, _json(body)
    body["metadata"]["resourceVersion"] = str(call.expect)
    return "PUT", path, _json(body)


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()


def _outcome(call: Call, answer: Answer) -> Outcome:
    """What an answer means. One that no client may get is an error of the test."""
    retry = "retry-after" in answer.headers
    if answer.code in (200, 201):
        return Outcome.DONE
    if answer.code in (429, 503) and retry:
        return Outcome.UNDONE
    if answer.code == 504 and not retry:
        return Outcome.UNKNOWN
    reason = answer.json().get("reason") if answer.body.startswith(b"{") else None
    known: dict[tuple[int, object], Outcome] = {
        (404, "NotFound"): Outcome.ABSENT,
        (409, "AlreadyExists"): Outcome.EXISTS,
        (409, "Conflict"): Outcome.CONFLICT,
    }
    found = known.get((answer.code, reason))
    assert found is not None, f"{call} was answered with {answer.code} {answer.headers} {answer.body[:400]!r}"
    return found


def _note(call: Call, body: Any) -> None:
    if call.kind is Kind.LIST:
        call.revision = int(body["metadata"]["resourceVersion"])
        call.items = {
            item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in body["items"]
        }
    elif call.kind is not Kind.DELETE:
        call.revision = int(body["metadata"]["resourceVersion"])
        call.seen = body["data"]["v"] if call.kind is Kind.GET else ""


class LibraryFace:
    """Keys are those below `PREFIX`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def do(self, call: Call) -> None:
        try:
            await self._do(call)
        except KinepyError as error:
            call.outcome = _OUTCOMES[type(error)]
        else:
            if call.outcome is Outcome.UNKNOWN:
                call.outcome = Outcome.DONE

    async def _do(self, call: Call) -> None:
        store, key, value = self._store, PREFIX + call.key.encode(), call.value.encode()
        match call.kind:
            case Kind.CREATE:
                call.revision = (await store.create(key, value)).mod_revision
            case Kind.UPDATE:
                made = await store.update(key, value, expect=Revision(call.expect))
                call.revision = made.mod_revision
            case Kind.DELETE:
                call.revision = (await store.delete(key, expect=Revision(call.expect))).revision
            case Kind.LIST:
                found = await store.range(KeyRange.prefix(PREFIX))
                call.revision = found.revision
                call.items = {
                    item.key.removeprefix(PREFIX).decode(): item.mod_revision for item in found.items
                }
            case Kind.GET:
                held = await store.get(key)
                if held is None:
                    call.outcome = Outcome.ABSENT
                else:
                    call.revision, call.seen = held.mod_revision, held.value.decode()

    async def close(self) -> None:
        """The store is its owner's."""


_OUTCOMES: Final[dict[type[KinepyError], Outcome]] = {
    KeyExists: Outcome.EXISTS,
    KeyNotFound: Outcome.ABSENT,
    RevisionConflict: Outcome.CONFLICT,
    StorageUnavailable: Outcome.UNDONE,
    Overloaded: Outcome.UNDONE,
    StoreClosed: Outcome.UNDONE,
    WriteOutcomeUnknown: Outcome.UNKNOWN,
}
