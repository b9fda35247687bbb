"""Amounts against minimum, maximum and ratio, in the original's words. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.quantity import canonical, quantity_value


@dataclass(frozen=True, slots=True)
class Usage:
    """What is requested, and what it is limited to, by resource."""

    requests: Mapping[str, Decimal]
    limits: Mapping[str, Decimal]

    @classmethod
    def of(cls, resources: JsonObject) -> "Usage":
        """The usage of a container."""
        return cls(*(_values(resources.get(field) or {}) for field in ("requests", "limits")))


def problems(item: JsonObject, kind: str, usage: Usage, *, requests_only: bool = False) -> Iterator[str]:
    """What of a usage an item of a LimitRange does not allow."""
    for name, text in sorted((item.get("min") or {}).items()):
        yield from _too_little(
            f"minimum {name} usage per {kind} is {text}", quantity_value(text), name, usage=usage
        )
    for name, text in sorted((item.get("max") or {}).items()):
        what = f"maximum {name} usage per {kind} is {text}"
        yield from _too_much(what, quantity_value(text), name, usage=usage, requests_only=requests_only)
    for name, text in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        what = f"{name} max limit to request ratio per {kind} is {text}"
        yield from _too_wide(what, quantity_value(text), name, usage=usage)


def _too_little(what: str, least: Decimal, name: str, *, usage: Usage) -> Iterator[str]:
    request, limit = usage.requests.get(name), usage.limits.get(name)
    if request is None:
        yield f"{what}.  No request is specified"
    elif request < least:
        yield f"{what}, but request is {_text(request)}"
    elif limit is not None and limit < least:
        yield f"{what}, but limit is {_text(limit)}"


def _too_much(what: str, most: Decimal, name: str, *, usage: Usage, requests_only: bool) -> Iterator[str]:
    request, limit = usage.requests.get(name), usage.limits.get(name)
    if requests_only:
        if request is None:
            yield f"{what}.  No request is specified"
        elif request > most:
            yield f"{what}, but request is {_text(request)}"
    elif limit is None:
        yield f"{what}.  No limit is specified"
    elif limit > most:
        yield f"{what}, but limit is {_text(limit)}"
    elif request is not None and request > most:
        yield f"{what}, but request is {_text(request)}"


def _too_wide(what: str, most: Decimal, name: str, *, usage: Usage) -> Iterator[str]:
    request, limit = usage.requests.get(name), usage.limits.get(name)
    if not request:
        yield f"{what}, but no request is specified or request is 0"
    elif not limit:
        yield f"{what}, but no limit is specified or limit is 0"
    elif limit / request > most:
        yield f"{what}, but provided ratio is {limit / request:f}"


def _values(amounts: Mapping[str, str]) -> Mapping[str, Decimal]:
    return {name: quantity_value(text) for name, text in amounts.items()}


def _text(value: Decimal) -> str:
    """A number as a quantity; whole ones that are many times 1024 in binary units."""
    if value and value == value.to_integral_value() and value % 1024 == 0:
        return canonical(f"{int(value) // 1024}Ki")
    return canonical(f"{value:f}")
