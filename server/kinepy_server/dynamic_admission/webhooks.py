"""Asking the webhooks that a write concerns: those that may change it one after the other, the others at once."""

import asyncio
import base64
import binascii
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from kinepy_server.cel.off_loop import AtOnce, patiently
from kinepy_server.context import Context
from kinepy_server.dynamic_admission.answers import (
    conditions_failed,
    denied_by_webhook,
    modifies_nothing,
    no_dry_run,
    unpatchable,
    webhook_failed,
)
from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.conditions import ConditionsFailed
from kinepy_server.dynamic_admission.equivalents import seen_by, shown_as
from kinepy_server.dynamic_admission.failures import CallFailed
from kinepy_server.dynamic_admission.reinvocation import Reinvocation
from kinepy_server.dynamic_admission.variables import values_of
from kinepy_server.dynamic_admission.webhook import Webhook
from kinepy_server.objects.uids import new_uid
from kinepy_server.patch.json_patch import PatchFailed, apply_json_patch
from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.go_json import kind_of
from kinepy_server.wire.json_text import parse_json

Response = Mapping[str, Any]


class Webhooks:
    """The webhooks of one write."""

    def __init__(
        self, context: Context, attributes: Attributes, *, namespace: JsonObject | None, warnings: list[str]
    ) -> None:
        self._context, self._attributes = context, attributes
        self._namespace, self._warnings = namespace, warnings
        self._at_once = AtOnce()
        self.reinvocation = Reinvocation()

    async def _concerning(self, webhook: Webhook) -> Attributes | None:
        """The write as a webhook sees it; None when it is not to be asked. Raises if it cannot tell."""
        attributes = seen_by(webhook.matcher, self._attributes, self._context.registry)
        if attributes is None or not webhook.matcher.takes_namespace(attributes, self._namespace):
            return None
        if not webhook.conditions:
            return attributes
        values = values_of(attributes, namespace=None, context=self._context)
        try:
            hold = partial(webhook.conditions.hold, values, {})
            return attributes if await patiently(hold, self._at_once) else None
        except ConditionsFailed as error:
            if webhook.ignores_failure:
                return None
            raise conditions_failed(attributes, error) from None

    async def round(self, webhooks: Sequence[Webhook]) -> bool:
        """Let them change the object, one after the other; whether any has."""
        changed = False
        for index, webhook in enumerate(webhooks):
            seen = await self._concerning(webhook)
            if seen is None or not self.reinvocation.takes(index):
                continue
            if await self._mutate(webhook, seen):
                changed = True
                self.reinvocation.changed()
            if webhook.again:
                self.reinvocation.asked(index)
        self.reinvocation.end(self._attributes.new)
        return changed

    async def _mutate(self, webhook: Webhook, seen: Attributes) -> bool:
        response = await self._allowed(webhook, seen, mutating=True)
        if response is None or not response.get("patch"):
            return False
        if seen.new is None:
            raise modifies_nothing(webhook.name)
        try:
            operations = _operations(response["patch"])
        except ValueError as error:
            if webhook.ignores_failure:
                return False
            why = CallFailed(f"received undecodable patch in webhook response: {error}")
            raise webhook_failed(webhook.name, why) from None
        before = orjson.dumps(seen.new)
        try:
            patched = apply_json_patch(orjson.loads(before), operations)
        except PatchFailed as error:
            raise unpatchable(error) from None
        if orjson.dumps(patched) == before:
            return False
        self._attributes.new = shown_as(patched, seen.resource, self._attributes.resource)
        return True

    async def validate(self, webhooks: Sequence[Webhook]) -> None:
        """Ask them all; the first refusal in their order counts."""
        concerned = [(webhook, await self._concerning(webhook)) for webhook in webhooks]
        asking = [
            self._allowed(webhook, seen, mutating=False) for webhook, seen in concerned if seen is not None
        ]
        results = await asyncio.gather(*asking, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _allowed(self, webhook: Webhook, attributes: Attributes, *, mutating: bool) -> Response | None:
        """The response of a webhook that allows the write; None for a failure that counts as consent."""
        if attributes.dry_run and not webhook.takes_dry_run:
            raise no_dry_run(webhook.name)
        request = attributes.request(new_uid())
        request |= {"object": attributes.new, "oldObject": attributes.old}
        try:
            response = await self._context.extensions.clients.ask(webhook, request, mutating=mutating)
        except CallFailed as error:
            if webhook.ignores_failure:
                return None
            raise webhook_failed(webhook.name, error) from None
        self._warnings.extend(str(text) for text in response.get("warnings") or ())
        if not response.get("allowed"):
            raise denied_by_webhook(webhook.name, response.get("status"))
        return response


def _operations(patch: str) -> list[Mapping[str, Any]]:
    """The operations of a patch as it was answered. Raises ValueError."""
    try:
        found = parse_json(base64.b64decode(patch, validate=True))
    except binascii.Error:
        raise ValueError("illegal base64 data") from None
    if not isinstance(found, list):
        raise ValueError(f"json: cannot unmarshal {kind_of(found)} into Go value of type jsonpatch.Patch")
    for operation in found:
        if not isinstance(operation, dict):
            text = f"json: cannot unmarshal {kind_of(operation)} into Go value of type jsonpatch.Operation"
            raise ValueError(text)
    return found
