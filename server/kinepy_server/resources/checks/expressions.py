"""Expressions of policies and webhooks must compile when they are stored."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from kinepy_server.resources.checks.causes import (
    Path,
    duplicate,
    invalid,
    required,
    too_many,
    unsupported,
)
from kinepy_server.resources.checks.entries import QUALIFIED_NAME
from kinepy_server.resources.resource import FieldError

if TYPE_CHECKING:
    from kinepy_server.cel import Program
    from kinepy_server.cel.terms import Terms

Errors = list[FieldError]
CONDITIONS_MAX, ANNOTATIONS_MAX = 64, 20
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII)
_UNSPECIFIED = "expression is not specified"
_NOTHING = "validations or auditAnnotations must contain at least one item"
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_PATCHES: Mapping[str, tuple[str, str]] = {
    "ApplyConfiguration": ("applyConfiguration", "Object"),
    "JSONPatch": ("jsonPatch", "list(JSONPatch)"),
}
"""Patch type -> its member, and what its expression evaluates to."""


def _terms(*, params: bool, variables: bool) -> "Terms":
    # Most servers never see an expression, and should not wait for the language.
    from kinepy_server.cel.terms import Terms

    return Terms(params=params, variables=variables)


def webhook_conditions(webhook: Any, path: Path, errors: Errors) -> None:
    """The match conditions of a webhook."""
    if webhook.get("matchConditions"):
        errors += _read(webhook, path, _webhook)


def _webhook(webhook: Any, path: Path, errors: Errors) -> None:
    _conditions(webhook, _terms(params=False, variables=False), path, errors=errors)


def validating_expressions(spec: Any, path: Path, errors: Errors) -> None:
    """All expressions of a validating policy."""
    errors += _read(spec, path, _validating)


def mutating_expressions(spec: Any, path: Path, errors: Errors) -> None:
    """All expressions of a mutating policy."""
    errors += _read(spec, path, _mutating)


def _read(spec: Any, path: Path, check: Callable[[Any, Path, Errors], None]) -> Errors:
    from kinepy_server.cel.long_texts import characters_of, read_patiently

    def read() -> Errors:
        errors: Errors = []
        check(spec, path, errors)
        return errors

    return read_patiently(characters_of(spec), lambda: (path, orjson.dumps(spec)), read)


def _validating(spec: Any, path: Path, errors: Errors) -> None:
    terms = _policy_terms(spec, path, errors)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        errors.append(required((path, "validations"), _NOTHING))
        errors.append(required((path, "auditAnnotations"), _NOTHING))
    for index, validation in enumerate(validations):
        _validation(validation, terms, ((path, "validations"), index), errors=errors)
    for index, annotation in enumerate(annotations):
        where = (((path, "auditAnnotations"), index), "valueExpression")
        text = annotation.get("valueExpression", "")
        if not text.strip():
            errors.append(required(where, "valueExpression is not specified"))
        else:
            _compile(text, terms.compile, where, errors=errors, wanted=("string", "null_type"))


def _mutating(spec: Any, path: Path, errors: Errors) -> None:
    terms = _policy_terms(spec, path, errors)
    for index, mutation in enumerate(spec.get("mutations") or ()):
        _mutation(mutation, terms, ((path, "mutations"), index), errors=errors)


def _policy_terms(spec: Any, path: Path, errors: Errors) -> "Terms":
    """What a policy's further expressions may name, after its match conditions and variables were checked."""
    params = spec.get("paramKind") is not None
    if spec.get("matchConditions"):
        _conditions(spec, _terms(params=params, variables=False), path, errors=errors)
    terms = _terms(params=params, variables=True)
    for index, variable in enumerate(spec.get("variables") or ()):
        _variable(variable, terms, ((path, "variables"), index), errors=errors)
    return terms


def _conditions(owner: Any, terms: "Terms", path: Path, *, errors: Errors) -> None:
    conditions, where = owner["matchConditions"], (path, "matchConditions")
    if len(conditions) > CONDITIONS_MAX:
        errors.append(too_many(where, len(conditions), CONDITIONS_MAX))
    seen = set()
    for index, condition in enumerate(conditions):
        name, text = condition.get("name", ""), condition.get("expression", "").strip()
        if not text:
            errors.append(required(((where, index), "expression")))
        else:
            _compile(text, terms.compile, ((where, index), "expression"), errors=errors, wanted=("bool",))
        if not name:
            errors.append(required(((where, index), "name")))
            continue
        QUALIFIED_NAME(name, ((where, index), "name"), errors)
        if name in seen:
            errors.append(duplicate(((where, index), "name"), name))
        seen.add(name)


def _variable(variable: Any, terms: "Terms", path: Path, *, errors: Errors) -> None:
    name, text = variable.get("name", ""), variable.get("expression", "")
    if not name.strip():
        errors.append(required((path, "name"), "name is not specified"))
    elif not _IDENTIFIER.fullmatch(name) or _is_reserved(name):
        errors.append(invalid((path, "name"), name, "must be a valid CEL identifier"))
    if not text.strip():
        errors.append(required((path, "expression"), _UNSPECIFIED))
    else:
        _compile(text, partial(terms.define, name), (path, "expression"), errors=errors)


def _is_reserved(name: str) -> bool:
    from kinepy_server.cel.parser import RESERVED

    return name in RESERVED or name in ("true", "false", "null", "in")


def _validation(validation: Any, terms: "Terms", path: Path, *, errors: Errors) -> None:
    text, message = validation.get("expression", ""), validation.get("message", "")
    if not text.strip():
        errors.append(required((path, "expression"), _UNSPECIFIED))
    else:
        _compile(text, terms.compile, (path, "expression"), errors=errors, wanted=("bool",))
    shown = validation.get("messageExpression", "")
    if shown and not shown.strip():
        errors.append(invalid((path, "messageExpression"), shown, "must be non-empty if specified"))
    elif shown:
        bare = partial(terms.compile, authorizer=False)
        _compile(shown, bare, (path, "messageExpression"), errors=errors, wanted=("string",))
    if message and not message.strip():
        errors.append(invalid((path, "message"), message, "must be non-empty if specified"))
    elif "\n" in message.strip() or "\r" in message.strip():
        errors.append(invalid((path, "message"), message, "must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(unsupported((path, "reason"), reason, _REASONS))


def _mutation(mutation: Any, terms: "Terms", path: Path, *, errors: Errors) -> None:
    kind = mutation.get("patchType", "")
    if not kind:
        errors.append(required((path, "patchType")))
        return
    if kind not in _PATCHES:
        errors.append(unsupported((path, "patchType"), kind, sorted(_PATCHES)))
        return
    member, wanted = _PATCHES[kind]
    own = mutation.get(member)
    if own is None:
        errors.append(required((path, member), f"must be specified when patchType is {kind}"))
    elif not own.get("expression", "").strip():
        errors.append(required(((path, member), "expression")))
    else:
        makes = partial(terms.compile, makes=True)
        where = ((path, member), "expression")
        _compile(own["expression"].strip(), makes, where, errors=errors, wanted=(wanted,))
    for other, _ in _PATCHES.values():
        if other != member and mutation.get(other) is not None:
            text = f"must not be specified when patchType is {kind}"
            errors.append(invalid((path, other), f"{{{other}}}", text))


def _compile(
    text: str,
    compile_: Callable[[str], "Program"],
    path: Path,
    *,
    errors: Errors,
    wanted: tuple[str, ...] = (),
) -> None:
    from kinepy_server.cel import CompileError

    try:
        found = str(compile_(text).type)
    except CompileError as error:
        errors.append(invalid(path, text, f"compilation failed: {error}"))
        return
    if wanted and found not in wanted:
        words = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]"
        errors.append(invalid(path, text, f"must evaluate to {words} but got {found}"))
