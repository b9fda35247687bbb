"""The options of delete and deletecollection (DEL-1..3, DEL-6)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kinepy_server.errors import Cause, StatusError, bad_request, invalid_options, precondition_failed
from kinepy_server.negotiate import body_type
from kinepy_server.objects.metadata import FOREGROUND, ORPHAN
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.resources.strategies.keys import quoted
from kinepy_server.schema.decode import DecodeError, decode
from kinepy_server.schema.go_numbers import whole_number
from kinepy_server.wire.body import decode_options
from kinepy_server.wire.json_text import parse_json
from kinepy_server.writes.options import dry_run_causes

_KIND = "DeleteOptions"
_POLICIES = ("Foreground", "Background", "Orphan")
_FINALIZER_OF = {"Foreground": FOREGROUND, "Orphan": ORPHAN}
_KINDS_OF_OPTIONS = frozenset(("", _KIND))
_integer = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What a delete asks for; absent texts are empty."""

    dry_run: bool = False
    policy: str = ""
    uid: str = ""
    resource_version: str = ""
    grace_s: int | None = None


def delete_options(request: Request) -> DeleteOptions:
    """The options in the body, or without one in the query. Raises the 400 or 422 of bad ones."""
    value = _from_body(request) if request.body else _from_query(request)
    return _checked(value) if value else DeleteOptions()


def checked_options(value: JsonObject, *, dry_run: bool) -> DeleteOptions:
    """The options inside another body."""
    return replace(_checked(value), dry_run=True) if dry_run else _checked(value)


def _from_body(request: Request) -> JsonObject:
    content_type = request.headers.get("content-type", "")
    if body_type(content_type) == "json":
        return _from_json(request.body)
    return decode_options(request.body, content_type=content_type)


def _from_json(body: bytes) -> JsonObject:
    try:
        value = parse_json(body)
    except ValueError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_request("couldn't get version/kind; json parse error: the options are no object")
    kind, version = value.get("kind") or "", value.get("apiVersion") or "v1"
    if kind not in _KINDS_OF_OPTIONS:
        text = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:110"'
        raise bad_request(text)
    try:
        options: JsonObject = decode("meta.v1.DeleteOptions", value)[0]
    except DecodeError as error:
        raise bad_request(str(error)) from None
    return options


def _from_query(request: Request) -> JsonObject:
    query = request.query
    if not query:
        return {}
    value: dict[str, Any] = {}
    if "dryRun" in query:
        value["dryRun"] = list(query["dryRun"])
    if "propagationPolicy" in query:
        value["propagationPolicy"] = request.parameter("propagationPolicy")
    if "orphanDependents" in query:
        value["orphanDependents"] = request.flag("orphanDependents")
    grace = request.parameter("gracePeriodSeconds")
    if grace:
        seconds = value["gracePeriodSeconds"] = whole_number(grace)
        if seconds is None:
            why = "value out of range" if _integer.fullmatch(grace) else "invalid syntax"
            raise bad_request(f'strconv.ParseInt: parsing "{grace}": {why}')
    return value


def _checked(value: JsonObject) -> DeleteOptions:
    policy, orphan = value.get("propagationPolicy") or "", value.get("orphanDependents")
    causes = dry_run_causes(value.get("dryRun") or ())
    if policy and orphan is not None:
        text = f"Invalid value: {quoted(policy)}: orphanDependents and deletionPropagation cannot be both set"
        causes.insert(0, Cause("FieldValueInvalid", text, "propagationPolicy"))
    if policy and policy not in _POLICIES:
        supported = ", ".join(f'"{one}"' for one in (*_POLICIES, "nil"))
        text = f"Unsupported value: {quoted(policy)}: supported values: {supported}"
        causes.insert(0, Cause("FieldValueNotSupported", text, "propagationPolicy"))
    if causes:
        raise invalid_options(_KIND, causes)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    preconditions = value.get("preconditions") or {}
    return DeleteOptions(
        dry_run=bool(value.get("dryRun")),
        policy=policy,
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        grace_s=value.get("gracePeriodSeconds"),
    )


def check_preconditions(
    resource: Resource, options: DeleteOptions, metadata: JsonObject
) -> StatusError | None:
    """The 409 of a precondition that the stored object does not meet (DEL-2)."""
    name, uid, version = metadata["name"], metadata["uid"], metadata["resourceVersion"]
    if options.uid and options.uid != uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid})."
            " The object might have been deleted and then recreated"
        )
        return precondition_failed(resource, name, why)
    if options.resource_version and options.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the"
            f" ResourceVersion in record ({version}). The object might have been modified"
        )
        return precondition_failed(resource, name, why)
    return None


def finalizers_after(policy: str, finalizers: Sequence[str], *, default: str) -> Sequence[str]:
    """The finalizers of an object that is deleted by a policy; empty for the one that it has or its type's (DEL-6)."""
    wanted = _FINALIZER_OF.get(policy) if policy else _present_or_default(finalizers, default)
    present = [name for name in finalizers if name in (FOREGROUND, ORPHAN)]
    if present == ([wanted] if wanted else []):
        return finalizers
    kept = [name for name in finalizers if name not in (FOREGROUND, ORPHAN)]
    return [*kept, wanted] if wanted else kept


def _present_or_default(finalizers: Sequence[str], default: str) -> str | None:
    return next((name for name in finalizers if name in (FOREGROUND, ORPHAN)), _FINALIZER_OF.get(default))
