"""The errors that handlers raise, and the Status body in which the client sees them.

Handlers raise `StatusError` through the builders below, so that code, reason, message and details
always belong together. Errors of the library are translated by `library_errors`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import orjson


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of an Invalid (or other) Status, as in `details.causes`."""

    reason: str
    message: str
    field: str = ""


class StatusError(Exception):
    """A failure with the HTTP code, reason, message and details that the client sees.

    `details=None` leaves the details out, an empty mapping shows `{}`. `retry_after_s` goes into the
    details and into the Retry-After header.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after_s: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details, self.retry_after_s = details, retry_after_s
        self.metadata = metadata or {}


class PlainError(Exception):
    """A failure whose body is text/plain, such as `404 page not found`. `retry_after_s` is the header's value."""

    def __init__(self, code: int, text: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(text)
        self.code, self.text, self.retry_after_s = code, text, retry_after_s


class Named(Protocol):
    """What an error needs to know of a resource; a `Resource` is one."""

    @property
    def group(self) -> str: ...
    @property
    def plural(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def qualified(self) -> str: ...


def status_object(error: StatusError) -> dict[str, Any]:
    """The Status of an error as a JSON value, members in the original's order."""
    body: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": dict(error.metadata),
        "status": "Failure",
    }
    if error.message:
        body["message"] = error.message
    if error.reason:
        body["reason"] = error.reason
    if error.retry_after_s:
        body["details"] = {**(error.details or {}), "retryAfterSeconds": error.retry_after_s}
    elif error.details is not None:
        body["details"] = dict(error.details)
    body["code"] = error.code
    return body


def status_body(error: StatusError) -> bytes:
    """The Status of an error as JSON. `<`, `>` and `&` are escaped as the original's encoder does."""
    return escape_html(orjson.dumps(status_object(error)))


def escape_html(body: bytes) -> bytes:
    """JSON with `<`, `>`, `&` (which JSON has only inside strings) written as unicode escapes."""
    return body.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")


def success_body(resource: Named, name: str, uid: str) -> bytes:
    """The Success Status that answers a delete (DEL-4)."""
    return orjson.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {**object_details(resource, name), "uid": uid},
        }
    )


def object_details(resource: Named, name: str) -> dict[str, Any]:
    """Details that name an object by its resource; empty parts are absent."""
    return details(name=name, group=resource.group, kind=resource.plural)


def details(*, name: str = "", group: str = "", kind: str = "") -> dict[str, Any]:
    """Status details of the parts that are not empty."""
    return {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}


def _subject(resource: Named, name: str) -> str:
    return f'{resource.qualified} "{name}"' if name else resource.qualified


# --- 4xx


def bad_request(message: str) -> StatusError:
    """400 BadRequest."""
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    """401 Unauthorized: the credentials were not accepted."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: Named, name: str, why: str, *, causes: Sequence[Cause] = ()) -> StatusError:
    """403 Forbidden for an object (or, without a name, a collection)."""
    message = f"{_subject(resource, name)} is forbidden: {why}"
    found = object_details(resource, name)
    if causes:
        found["causes"] = [cause_object(cause) for cause in causes]
    return StatusError(403, "Forbidden", message, details=found)


def not_found(resource: Named, name: str) -> StatusError:
    """404 NotFound: the resource is served, the object does not exist."""
    message = f"{resource.qualified} {_quoted(name)} not found"
    return StatusError(404, "NotFound", message, details=object_details(resource, name))


def _quoted(name: str) -> str:
    """A name from an address, which may hold anything, as Go's %q writes it."""
    if name.isprintable() and '"' not in name and "\\" not in name:
        return f'"{name}"'
    # Imported late: what knows the rules of Go's texts knows errors too.
    from kinepy_server.resources.strategies.keys import quoted

    return quoted(name)


def unknown_resource() -> StatusError:
    """404 NotFound: the group is served, the version or resource is not."""
    message = "the server could not find the requested resource"
    return StatusError(404, "NotFound", message, details={})


def page_not_found() -> PlainError:
    """404 in text: nothing is served below this path."""
    return PlainError(404, "404 page not found\n")


def method_not_allowed() -> StatusError:
    """405 MethodNotAllowed: the path is served, the method is not."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})


def already_exists(resource: Named, name: str, *, being_deleted: bool = False) -> StatusError:
    """409 AlreadyExists; the text says so when the existing object waits for its finalizers."""
    prefix = "object is being deleted: " if being_deleted else ""
    message = f'{prefix}{resource.qualified} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=object_details(resource, name))


def generated_name_taken(resource: Named, name: str) -> StatusError:
    """409 AlreadyExists: every generated name was taken (WR-4)."""
    message = (
        f'{resource.qualified} "{name}" already exists, the server was not able to generate a unique name'
        " for the object"
    )
    found = object_details(resource, name)
    return StatusError(409, "AlreadyExists", message, details=found, retry_after_s=1)


def conflict(resource: Named, name: str, why: str) -> StatusError:
    """409 Conflict."""
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=object_details(resource, name))


def modified(resource: Named, name: str) -> StatusError:
    """409 Conflict: the object is not at the resourceVersion that the client expects (UPD-2)."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def precondition_failed(resource: Named, name: str, why: str) -> StatusError:
    """409 Conflict of a delete's precondition: the kind stands where the resource usually is (DEL-2)."""
    qualified = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    message = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    found = details(name=name, group=resource.group, kind=resource.kind)
    return StatusError(409, "Conflict", message, details=found)


def expired(message: str, *, continue_token: str = "") -> StatusError:
    """410 Expired; `continue_token` lets the client go on inconsistently (RV-18)."""
    metadata = {"continue": continue_token} if continue_token else None
    return StatusError(410, "Expired", message, metadata=metadata)


def body_too_large(limit_bytes: int) -> StatusError:
    """413 RequestEntityTooLarge for a request body."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit_bytes}")


CAUSES_MAX = 1000
"""What more is wrong with an object is not told: the answer names each cause twice."""


def invalid(kind: str, group: str, name: str, *, causes: Iterable[Cause]) -> StatusError:
    """422 Invalid. A cause that comes twice is told once in the message, but kept in the details.

    `kind` may be empty, as in the original's refusal of a patch under strict validation. Of more than
    `CAUSES_MAX` causes only the first ones are told.
    """
    listed = list(islice(causes, CAUSES_MAX))
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in listed))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind}.{group}" if group else kind
    found = details(name=name, group=group, kind=kind)
    if listed:
        found["causes"] = [cause_object(cause) for cause in listed]
    return StatusError(422, "Invalid", f'{qualified} "{name}" is invalid: {text}', details=found)


def invalid_options(kind: str, causes: Iterable[Cause]) -> StatusError:
    """422 Invalid of request options such as `ListOptions`."""
    return invalid(kind, "meta.k8s.io", "", causes=causes)


def too_many_requests(message: str = "too many requests, please try again later") -> StatusError:
    """429 TooManyRequests; clients try again after a second."""
    return StatusError(429, "TooManyRequests", message, retry_after_s=1)


# --- 5xx


def raw_error(message: str) -> StatusError:
    """500 without a reason: the original's form of an error that it does not classify."""
    return StatusError(500, "", message)


def internal_error(message: str) -> StatusError:
    """500 InternalError."""
    text = f"Internal error occurred: {message}"
    return StatusError(500, "InternalError", text, details={"causes": [{"message": message}]})


def unavailable(message: str) -> StatusError:
    """503 ServiceUnavailable: surely nothing was done, so clients may repeat."""
    return StatusError(503, "ServiceUnavailable", message, retry_after_s=1)


def timeout(message: str, *, causes: Sequence[Cause] = (), retry_after_s: int | None = None) -> StatusError:
    """504 Timeout."""
    found = {"causes": [cause_object(cause) for cause in causes]} if causes else {}
    text = f"Timeout: {message}"
    return StatusError(504, "Timeout", text, details=found, retry_after_s=retry_after_s)


def revision_in_future(requested: int, current: int) -> StatusError:
    """504 Timeout: the store has not reached the revision; clients try again after a second (RV-20)."""
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    text = f"Too large resource version: {requested}, current: {current}"
    return timeout(text, causes=[cause], retry_after_s=1)


def cause_object(cause: Cause) -> dict[str, str]:
    """A cause as a JSON value; empty parts are absent."""
    parts = (("reason", cause.reason), ("message", cause.message), ("field", cause.field))
    return {key: value for key, value in parts if value}
