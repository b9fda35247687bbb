"""The options of create, update and patch (OPT-1, OPT-2, PATCH-6, SSA-8)."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from kinepy_server.apply.managed_fields import MANAGER_BYTES_MAX, manager_of
from kinepy_server.errors import Cause, invalid_options
from kinepy_server.request import Request
from kinepy_server.resources.strategies.keys import quoted
from kinepy_server.schema.decode import Validation

_VALIDATIONS = {"": Validation.WARN, **{one.value: one for one in Validation}}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a write asks for. `manager` is never empty. `force` is for apply alone."""

    dry_run: bool
    validation: Validation
    manager: str
    force: bool = False


def write_options(request: Request, kind: str, *, apply: bool = False) -> WriteOptions:
    """The options in the query; `kind` names them in the 422 that bad ones raise, such as `CreateOptions`.

    Those of an apply patch must name the manager, and only they may ask for `force`.
    """
    user_agent = request.headers.get("user-agent", "")
    if not request.query and not apply:
        return WriteOptions(False, Validation.WARN, manager_of("", user_agent))
    field_manager, dry_run = request.parameter("fieldManager"), request.query.get("dryRun", ())
    validation = request.parameter("fieldValidation")
    causes = [*_manager_causes(field_manager), *dry_run_causes(dry_run), *_validation_causes(validation)]
    if apply and not field_manager:
        text = "Required value: is required for apply patch"
        causes.insert(0, Cause("FieldValueRequired", text, "fieldManager"))
    elif kind == "PatchOptions" and not apply and "force" in request.query:
        text = "Forbidden: may not be specified for non-apply patch"
        causes.insert(0, Cause("FieldValueForbidden", text, "force"))
    if causes:
        raise invalid_options(kind, causes)
    manager = manager_of(field_manager, user_agent)
    return WriteOptions(
        bool(dry_run), _VALIDATIONS[validation], manager, apply and _is_true(request, "force")
    )


def _is_true(request: Request, name: str) -> bool:
    return name in request.query and request.parameter(name).lower() not in ("0", "false")


def dry_run_causes(values: Sequence[str]) -> list[Cause]:
    """The only value is `All`."""
    if all(value == "All" for value in values):
        return []
    text = f'Unsupported value: {orjson.dumps(list(values)).decode()}: supported values: "All"'
    return [Cause("FieldValueNotSupported", text, "dryRun")]


def _validation_causes(value: str) -> list[Cause]:
    if value in _VALIDATIONS:
        return []
    text = f'Unsupported value: {quoted(value)}: supported values: "", "Ignore", "Strict", "Warn"'
    return [Cause("FieldValueNotSupported", text, "fieldValidation")]


def _manager_causes(manager: str) -> list[Cause]:
    if not manager:
        return []
    causes = []
    if len(manager.encode()) > MANAGER_BYTES_MAX:
        text = f"Too long: may not be more than {MANAGER_BYTES_MAX} bytes"
        causes.append(Cause("FieldValueTooLong", text, "fieldManager"))
    position = 0
    for character in manager:
        if not character.isprintable():
            shown = f"invalid character U+{ord(character):04X} (at position {position})"
            text = f"Invalid value: {quoted(manager)}: {shown}"
            causes.append(Cause("FieldValueInvalid", text, "fieldManager"))
        position += len(character.encode())
    return causes
