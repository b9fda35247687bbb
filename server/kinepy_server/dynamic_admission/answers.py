"""The errors with which webhooks and policies refuse a write."""

from collections.abc import Mapping, Sequence
from typing import Any

from kinepy_server.dynamic_admission.attributes import Attributes
from kinepy_server.dynamic_admission.validating import Finding
from kinepy_server.errors import Cause, StatusError, bad_request, forbidden, internal_error

_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}


def denied_by_webhook(name: str, status: Mapping[str, Any] | None) -> StatusError:
    """A webhook's own Status, with its name in front of the message."""
    status = status or {}
    code, reason = status.get("code") or 0, status.get("reason") or ""
    denied = f'admission webhook "{name}" denied the request'
    why = status.get("message") or reason
    message = f"{denied}: {why}" if why else f"{denied} without explanation"
    details = status.get("details")
    return StatusError(
        code if isinstance(code, int) and 400 <= code < 600 else 400,
        str(reason),
        message,
        details=details if isinstance(details, dict) else None,
    )


def webhook_failed(name: str, error: Exception) -> StatusError:
    """500 of a webhook that cannot be asked."""
    return internal_error(f'failed calling webhook "{name}": {error}')


def modifies_nothing(name: str) -> StatusError:
    """500: the webhook patches what is not there."""
    return internal_error(
        f'admission webhook "{name}" attempted to modify the object, which is not supported for this operation'
    )


def unpatchable(error: Exception) -> StatusError:
    """500: a webhook's patch does not apply to the object."""
    return internal_error(str(error))


def no_dry_run(name: str) -> StatusError:
    """400: the webhook has side effects, and this request is not to have any."""
    return bad_request(f'admission webhook "{name}" does not support dry run')


def denied_by_policy(attributes: Attributes, finding: Finding, *, text: str) -> StatusError:
    """The refusal of a policy, whose reason says the code."""
    error = forbidden(attributes.resource, attributes.name, text, causes=[Cause("", text)])
    code = _CODES.get(finding.reason, 422)
    return StatusError(code, finding.reason, error.message, details=error.details)


def policy_denial(policy: str, binding: str, why: str) -> str:
    """What a mutating policy that fails says."""
    return f"policy '{policy}' with binding '{binding}' denied request: {why}"


def denied_by_mutating_policies(attributes: Attributes, denials: Sequence[tuple[str, str]]) -> StatusError:
    """403 with the words and the reason of the first denial, and the words of all."""
    causes = [Cause("", text) for text, _ in denials]
    (message, reason), *_ = denials
    details = forbidden(attributes.resource, attributes.name, "", causes=causes).details
    return StatusError(403, reason, message, details=details)


def undecodable(why: str) -> StatusError:
    """500: what was made of an object is none of its type any more."""
    return internal_error(why)


def conditions_failed(attributes: Attributes, error: Exception) -> StatusError:
    """403: a webhook's match conditions could not be evaluated."""
    return forbidden(attributes.resource, attributes.name, str(error))
