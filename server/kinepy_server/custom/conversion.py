"""Asking a definition's webhook to convert objects (CRD-22)."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from kinepy.clock import Clock
from kinepy.errors import KinepyError
from kinepy_server.dynamic_admission.endpoint import endpoint_of
from kinepy_server.dynamic_admission.extensions import Extensions
from kinepy_server.errors import StatusError, raw_error
from kinepy_server.objects.uids import new_uid
from kinepy_server.resources.resource import ConversionNeeded, JsonObject
from kinepy_server.schema.go_json import TOO_DEEP, too_deep

TIMEOUT_S = 30
REVIEW_BYTES = 1024 * 1024
"""So much of a list is converted by one review; a larger object goes alone."""
ANSWER_BYTES_MAX = 16 * 1024 * 1024
KNOWN_BYTES_MAX = 16 * 1024 * 1024
KEPT_S = 30.0
"""So long at most what was converted is shown again without asking: the webhook may have learned something since."""
KNOWN_MIN = 16
"""So many conversions are kept however large they are: one decision may need several at the same time."""
_GROUP, _KIND = "apiextensions.k8s.io", "ConversionReview"
_VERSIONS = ("v1", "v1beta1")
_CALL = "failed to call webhook: "
_FREE = ("labels", "annotations")


class WebhookConverter:
    """The webhook of one definition, and what it has said lately."""

    def __init__(self, webhook: Mapping[str, Any], extensions: Extensions, clock: Clock) -> None:
        self._endpoint = endpoint_of(webhook.get("clientConfig") or {}, timeout_s=TIMEOUT_S)
        asked = webhook.get("conversionReviewVersions") or ()
        self._review = f"{_GROUP}/{next((one for one in asked if one in _VERSIONS), _VERSIONS[0])}"
        self._extensions, self._clock = extensions, clock
        self._known: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()
        self._known_bytes = self._known_era = 0
        self._asked: dict[tuple[str, bytes], asyncio.Future[bytes]] = {}
        self._asking: set[asyncio.Task[None]] = set()

    def era(self) -> int:
        """The number of the present span of `KEPT_S`."""
        return int(self._clock.monotonic() / KEPT_S) + 1

    def known(self, value: bytes, api_version: str) -> JsonObject:
        """An object in a version. Raises `ConversionNeeded` unless that was found out lately."""
        found = self._known.get((api_version, value)) if self._known_era == self.era() else None
        if found is None:
            if orjson.loads(value).get("apiVersion") == api_version:
                found = value
            else:
                raise ConversionNeeded(self, value, api_version)
        obj: JsonObject = orjson.loads(found)
        return obj

    async def learn(self, value: bytes, api_version: str) -> None:
        """Find out what `known` did not know."""
        [obj] = await self.convert([value], api_version)
        found = orjson.dumps(obj)
        if (era := self.era()) != self._known_era:
            self._known.clear()
            self._known_bytes, self._known_era = 0, era
        before = self._known.pop((api_version, value), None)
        if before is not None:
            self._known_bytes -= len(value) + len(before)
        self._known[api_version, value] = found
        self._known_bytes += len(value) + len(found)
        while self._known_bytes > KNOWN_BYTES_MAX and len(self._known) > KNOWN_MIN:
            (_, old), result = self._known.popitem(last=False)
            self._known_bytes -= len(old) + len(result)

    async def convert_shared(self, values: Sequence[bytes], api_version: str) -> list[JsonObject]:
        """As `convert`; what others are asking for at the moment is not asked for once more."""
        loop, mine, asked = asyncio.get_running_loop(), dict[bytes, "asyncio.Future[bytes]"](), []
        for value in values:
            future = self._asked.get((api_version, value))
            if future is None:
                future = mine[value] = self._asked[api_version, value] = loop.create_future()
            asked.append(future)
        if mine:
            # A task of its own: who has asked may leave while others wait for the same.
            task = loop.create_task(self._ask(mine, api_version))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        await asyncio.wait(asked)
        for future in mine.values():
            future.result()
        # The reviews of others may have failed because of objects that are not wanted here.
        failed = [value for value, one in zip(values, asked, strict=True) if one.exception() is not None]
        again = iter(await self.convert(failed, api_version) if failed else ())
        return [orjson.loads(one.result()) if one.exception() is None else next(again) for one in asked]

    async def _ask(self, mine: Mapping[bytes, "asyncio.Future[bytes]"], api_version: str) -> None:
        try:
            found = await self.convert(list(mine), api_version)
            for future, obj in zip(mine.values(), found, strict=True):
                future.set_result(orjson.dumps(obj))
        except (StatusError, KinepyError) as error:
            for future in mine.values():
                future.set_exception(error)
                future.exception()  # nobody may be left to be told
        finally:
            for value, future in mine.items():
                del self._asked[api_version, value]
                future.cancel()

    async def convert(self, values: Sequence[bytes], api_version: str) -> list[JsonObject]:
        """Objects in a version, in order. Raises 500."""
        found: list[JsonObject] = []
        for some in _parts(values):
            found += await self._convert([orjson.loads(value) for value in some], api_version)
        return found

    async def _convert(self, objects: list[JsonObject], api_version: str) -> list[JsonObject]:
        # Not at the module's head: most servers never ask a webhook.
        from kinepy_server.dynamic_admission.client import CallFailed

        uid, name = new_uid(), f"{objects[0]['apiVersion']}, Kind={objects[0]['kind']}"
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": objects}
        body = orjson.dumps({"kind": _KIND, "apiVersion": self._review, "request": request})
        try:
            async with asyncio.timeout(TIMEOUT_S):
                content = await self._extensions.clients.post(
                    self._endpoint, body, answer_bytes_max=ANSWER_BYTES_MAX
                )
            answers = _converted_objects(content, self._review, uid)
        except TimeoutError:
            url = f"{self._endpoint.url}?timeout={TIMEOUT_S}s"
            raise _failed(name, f'Post "{url}": context deadline exceeded') from None
        except CallFailed as error:
            raise _failed(name, str(error).removeprefix(_CALL)) from None
        except _BadAnswerError as error:
            raise _failed(name, str(error)) from None
        if len(answers) != len(objects):
            text = f"returned {len(answers)} objects, expected {len(objects)}"
            raise raw_error(f"conversion webhook for {name} {text}")
        for index, (before, after) in enumerate(zip(objects, answers, strict=True)):
            problem = _problem(before, after, index=index, api_version=api_version)
            if problem:
                raise raw_error(f"conversion webhook for {name} returned {problem}")
            after["metadata"] = _metadata(before.get("metadata") or {}, after["metadata"])
        return answers


class _BadAnswerError(Exception):
    """What was answered is no successful review."""


def _failed(name: str, why: str) -> StatusError:
    return raw_error(f"conversion webhook for {name} failed: {why}")


def _parts(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    start = size = 0
    for index, value in enumerate(values):
        if size and size + len(value) > REVIEW_BYTES:
            yield values[start:index]
            start, size = index, 0
        size += len(value)
    yield values[start:]


def _converted_objects(content: bytes, api_version: str, uid: str) -> list[Any]:
    try:
        review = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise _BadAnswerError(f"couldn't get version/kind; json parse error: {error}") from None
    seen = review if isinstance(review, dict) else {}
    found = f"{seen.get('apiVersion', '')}, Kind={seen.get('kind', '')}"
    if found != (wanted := f"{api_version}, Kind={_KIND}"):
        raise _BadAnswerError(f"expected webhook response of {wanted}, got {found}")
    response = seen.get("response")
    if not isinstance(response, dict):
        raise _BadAnswerError("no response provided")
    if response.get("uid") != uid:
        raise _BadAnswerError(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    result = response.get("result")
    result = result if isinstance(result, dict) else {}
    if result.get("status") != "Success":
        status = result.get("status", "")
        raise _BadAnswerError(
            result.get("message") or f"response.result.status was '{status}', not 'Success'"
        )
    objects = response.get("convertedObjects")
    return objects if isinstance(objects, list) else []


def _problem(before: JsonObject, after: Any, *, index: int, api_version: str) -> str:
    """What is wrong with a converted object; empty when nothing is."""
    if not isinstance(after, dict):
        return f"invalid converted object at index {index}: it is no object"
    if after.get("apiVersion") != api_version:
        found = f"(expected {api_version}, received {after.get('apiVersion', '')})"
        return f"invalid converted object at index {index}: invalid groupVersion {found}"
    if too_deep(after):
        return f"invalid converted object at index {index}: {TOO_DEEP}"
    metadata = after.get("metadata")
    if not isinstance(metadata, dict):
        return "invalid metadata: missing metadata in converted object"
    was = before.get("metadata") or {}
    pairs = [("kind", before["kind"], after.get("kind", ""))]
    pairs += [
        (label, was.get(name, ""), metadata.get(name, ""))
        for label, name in (("name", "name"), ("namespace", "namespace"), ("UID", "uid"))
    ]
    for label, old, new in pairs:
        if old != new:
            return f"invalid converted object at index {index}: must have the same {label}: {old} != {new}"
    return _map_problem(metadata)


def _map_problem(metadata: Mapping[str, Any]) -> str:
    for name in _FREE:
        values = metadata.get(name)
        if values is not None and not (
            isinstance(values, dict) and all(isinstance(one, str) for one in values.values())
        ):
            return f"invalid metadata: {name} must be a map of strings"
    return ""


def _metadata(before: JsonObject, after: JsonObject) -> JsonObject:
    """Only labels and annotations are the webhook's to change."""
    kept = {name: value for name, value in before.items() if name not in _FREE}
    return kept | {name: after[name] for name in _FREE if after.get(name)}
