"""SelfSubjectAccessReview, SubjectAccessReview, LocalSubjectAccessReview: may somebody do something?"""

from collections.abc import Iterator
from typing import Any

import orjson

from kinepy_server.auth.actions import Action
from kinepy_server.auth.user import User
from kinepy_server.context import Context
from kinepy_server.errors import Cause, invalid
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject

GROUP = "authorization.k8s.io"
_INVALID, _REQUIRED = "FieldValueInvalid", "FieldValueRequired"


def check_own_access(request: Request, obj: JsonObject) -> None:
    """Raise what is wrong with a question about the user of the request."""
    spec = obj.get("spec") or {}
    _refuse([*_attribute_causes(spec), *_selector_causes(spec), *_metadata_causes(obj["metadata"])])


def check_access(request: Request, obj: JsonObject) -> None:
    """Raise what is wrong with a question about any user."""
    _refuse([*_subject_causes(obj.get("spec") or {}), *_metadata_causes(obj["metadata"])])


def check_local_access(request: Request, obj: JsonObject) -> None:
    """Raise what is wrong with a question about any user in the namespace of the request."""
    spec, metadata = obj.get("spec") or {}, obj["metadata"]
    causes = [*_subject_causes(spec)]
    if metadata.keys() - {"namespace", "managedFields"}:
        causes.append(_invalid("metadata", metadata, "must be empty except for namespace"))
    asked = spec.get("resourceAttributes")
    if asked is not None and asked.get("namespace", "") != request.namespace:
        field = "spec.resourceAttributes.namespace"
        causes.append(_invalid(field, asked.get("namespace", ""), "must match metadata.namespace"))
    if spec.get("nonResourceAttributes") is not None:
        shown, why = _go_names(spec["nonResourceAttributes"]), "disallowed on this kind of request"
        causes.append(_invalid("spec.nonResourceAttributes", shown, why))
    _refuse(causes)


async def review_own_access(context: Context, request: Request, obj: JsonObject) -> None:
    """Whether the user of the request may."""
    _answer(context, obj, request.user)


async def review_access(context: Context, request: Request, obj: JsonObject) -> None:
    """Whether a user may."""
    _answer(context, obj, _subject(obj["spec"]))


def _answer(context: Context, obj: JsonObject, user: User) -> None:
    decision = context.identity.authorizer.explain(user, _action(obj["spec"]))
    obj["status"] = {"allowed": decision.allowed}
    if decision.reason:
        obj["status"]["reason"] = decision.reason


def _action(spec: JsonObject) -> Action:
    asked = spec.get("resourceAttributes")
    if asked is None:
        path = spec["nonResourceAttributes"]
        return Action(path.get("verb", ""), path=path.get("path", ""), is_resource=False)
    parts = {name: asked.get(name, "") for name in ("group", "resource", "subresource", "namespace", "name")}
    return Action(asked.get("verb", ""), **parts)


def _subject(spec: JsonObject) -> User:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)


def _subject_causes(spec: JsonObject) -> Iterator[Cause]:
    yield from _attribute_causes(spec)
    if not spec.get("user") and not spec.get("groups"):
        yield _invalid("spec.user", "", "at least one of user or group must be specified")
    yield from _selector_causes(spec)


def _attribute_causes(spec: JsonObject) -> Iterator[Cause]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        yield _invalid("spec.nonResourceAttributes", _go_names(path), why)
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield _invalid("spec.resourceAttributes", None, why)


def _selector_causes(spec: JsonObject) -> Iterator[Cause]:
    asked = spec.get("resourceAttributes") or {}
    for name in ("fieldSelector", "labelSelector"):
        selector, field = asked.get(name), f"spec.resourceAttributes.{name}"
        if selector is None:
            continue
        raw, requirements = selector.get("rawSelector"), selector.get("requirements")
        if raw and requirements:
            yield _invalid(f"{field}.rawSelector", raw, "may not specified at the same time as requirements")
        if not raw and not requirements:
            why = f"when {field} is specified, requirements or rawSelector is required"
            yield Cause(_REQUIRED, f"Required value: {why}", f"{field}.requirements")


def _metadata_causes(metadata: JsonObject) -> Iterator[Cause]:
    if metadata.keys() - {"managedFields"}:
        yield _invalid("metadata", metadata, "must be empty")


def _go_names(value: JsonObject) -> JsonObject:
    """The original shows this value by the names of its Go fields."""
    return {"Path": value.get("path", ""), "Verb": value.get("verb", "")}


def _invalid(field: str, value: Any, why: str) -> Cause:
    return Cause(_INVALID, f"Invalid value: {orjson.dumps(value).decode()}: {why}", field)


def _refuse(causes: list[Cause]) -> None:
    if causes:
        # The kind is empty: the original answers for an object that has forgotten its own.
        raise invalid("", GROUP, "", causes=causes)
