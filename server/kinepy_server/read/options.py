"""The options of list and watch: decoded, and refused where they contradict each other (RV-12..15)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kinepy.revision import REVISION_MAX
from kinepy_server.errors import Cause, StatusError, bad_request, invalid_options
from kinepy_server.request import Request

EXACT, NOT_OLDER_THAN = "Exact", "NotOlderThan"
_INT64_MAX, _UINT64_MAX = 2**63 - 1, 2**64 - 1
_DIGITS_MAX = 20
_signed = re.compile(r"[+-]?[0-9]+", re.ASCII)
_unsigned = re.compile(r"[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What a list or watch asks for. Absent texts are empty; `limit` is None when there is none."""

    labels: str
    fields: str
    resource_version: str
    match: str
    limit: int | None
    continue_token: str
    timeout_s: int | None
    bookmarks: bool
    send_initial_events: bool | None


class BadNumber(ValueError):
    """A text that is no number; the words are those of Go's strconv."""


def parse_options(request: Request, *, watch: bool) -> ListOptions:
    """Decode the query; raises the 400 of what cannot be decoded, the 422 of what contradicts itself."""
    limit = _integer(request, "limit") or 0
    options = ListOptions(
        labels=request.parameter("labelSelector"),
        fields=request.parameter("fieldSelector"),
        resource_version=request.parameter("resourceVersion"),
        match=request.parameter("resourceVersionMatch"),
        limit=limit if limit > 0 else None,
        continue_token=request.parameter("continue"),
        timeout_s=_integer(request, "timeoutSeconds"),
        bookmarks=request.flag("allowWatchBookmarks"),
        send_initial_events=request.flag("sendInitialEvents")
        if "sendInitialEvents" in request.query
        else None,
    )
    causes = _watch_causes(options) if watch else _list_causes(options)
    if causes:
        raise invalid_options("ListOptions", causes)
    return options


def parse_revision(text: str) -> int:
    """The number of a resourceVersion; one that no store can reach is cut to the largest. Raises `BadNumber`."""
    if not _unsigned.fullmatch(text):
        raise BadNumber(f'strconv.ParseUint: parsing "{text}": invalid syntax')
    digits = text.lstrip("0") or "0"
    if len(digits) > _DIGITS_MAX or int(digits) > _UINT64_MAX:
        raise BadNumber(f'strconv.ParseUint: parsing "{text}": value out of range')
    return min(int(digits), REVISION_MAX - 1)


def invalid_revision(text: str, error: BadNumber) -> str:
    """What every verb says of a resourceVersion that is no number."""
    return f'resourceVersion: Invalid value: "{text}": {error}'


def _integer(request: Request, name: str) -> int | None:
    values = request.query.get(name)
    if not values:
        return None
    text = values[0]
    if not _signed.fullmatch(text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    digits = text.lstrip("+-").lstrip("0") or "0"
    value = int(digits) if len(digits) <= _DIGITS_MAX else _UINT64_MAX
    if value > _INT64_MAX + text.startswith("-"):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return -value if text.startswith("-") else value


def _list_causes(options: ListOptions) -> Sequence[Cause]:
    match, causes = options.match, []
    if match:
        if not options.resource_version:
            causes.append(_forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            causes.append(_forbidden(_MATCH_WITH_CONTINUE))
        if match not in (EXACT, NOT_OLDER_THAN):
            causes.append(_unsupported(match, f'"{EXACT}", "{NOT_OLDER_THAN}", ""'))
        if match == EXACT and options.resource_version == "0":
            causes.append(_forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        text = "Forbidden: sendInitialEvents is forbidden for list"
        causes.append(Cause("FieldValueForbidden", text, "sendInitialEvents"))
    return causes


def _watch_causes(options: ListOptions) -> Sequence[Cause]:
    match, causes = options.match, []
    asked = options.send_initial_events is not None
    if asked and match != NOT_OLDER_THAN:
        text = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"
        causes.append(_forbidden(text))
    if match:
        if not asked:
            causes.append(_forbidden(_MATCH_WITHOUT_INITIAL))
        if match != NOT_OLDER_THAN:
            causes.append(_unsupported(match, f'"{NOT_OLDER_THAN}"'))
        if options.continue_token:
            causes.append(_forbidden(_MATCH_WITH_CONTINUE))
    return causes


_MATCH_WITH_CONTINUE = "resourceVersionMatch is forbidden when continue is provided"
_MATCH_WITHOUT_INITIAL = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"


def _forbidden(text: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {text}", "resourceVersionMatch")


def _unsupported(value: str, supported: str) -> Cause:
    text = f'Unsupported value: "{value}": supported values: {supported}'
    return Cause("FieldValueNotSupported", text, "resourceVersionMatch")


def bad_list_revision(text: str, error: BadNumber) -> StatusError:
    """400 of a list's resourceVersion that is no number (RV-14)."""
    return bad_request(f"invalid resource version: {invalid_revision(text, error)}")
