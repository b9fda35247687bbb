"""The formats of strings that schemas can ask for (CRD-16). Other formats say nothing."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Mapping
from datetime import date
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network
from urllib.parse import urlsplit

_DATE_TIME = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_HOSTNAME = re.compile(
    r"(?=.{1,253}\Z)[a-zA-Z0-9_]([-a-zA-Z0-9_]{0,62})(\.[a-zA-Z0-9_]([-a-zA-Z0-9_]{0,62}))*\.?", re.ASCII
)
_EMAIL = re.compile(r"[^\s@<>()\[\],;:\\\"]+@[^\s@<>()\[\],;:\\\"]+", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_MAC = re.compile(r"[0-9a-f]{2}([:-][0-9a-f]{2}){5}|[0-9a-f]{4}(\.[0-9a-f]{4}){2}", re.IGNORECASE)
_GO_DURATION = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_LONG_UNIT = (
    "ns|nano|nanos|nanosecond|nanoseconds|us|µs|micro|micros|microsecond|microseconds|ms|milli|millis|millisecond"
    "|milliseconds|s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hr|hrs|hour|hours|d|day|days|w|wk|wks|week"
    "|weeks"
)
_DURATION = re.compile(rf"(\d+(\.\d*)?\s*({_LONG_UNIT})\s*)+|0", re.ASCII | re.IGNORECASE)
_HEX_COLOR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", re.ASCII)
_RGB_PART = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_RGB_COLOR = re.compile(rf"rgb\({_RGB_PART},{_RGB_PART},{_RGB_PART}\)", re.ASCII)
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{24}", re.ASCII)
_SSN = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}", re.ASCII)
_CARD = re.compile(r"\d{13,19}", re.ASCII)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*", re.ASCII)


def _date_time(text: str) -> bool:
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        return False
    hour, minute, second = (int(part) for part in match.group(4, 5, 6))
    return hour < 24 and minute < 60 and second < 60 and _date("-".join(match.group(1, 2, 3)))


def _date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        # Go counts a year 0.
        return text.startswith("0000-") and _date(f"2000{text[4:]}")
    return True


def _duration(text: str) -> bool:
    return _go_duration(text) or _DURATION.fullmatch(text) is not None


def _go_duration(text: str) -> bool:
    rest, position = text, 0
    if rest in ("0", "+0", "-0"):
        return True
    while position < len(rest):
        match = _GO_DURATION.match(rest, position)
        if match is None or (position and match[0][0] in "+-"):
            return False
        position = match.end()
    return bool(rest)


def _byte(text: str) -> bool:
    try:
        b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (Error, ValueError):
        return False
    return True


def _uri(text: str) -> bool:
    """What the original's parser of request URIs takes: an absolute path, or anything with a scheme."""
    if not text or _CONTROL.search(text) or re.search(r"%(?![0-9a-fA-F]{2})", text):
        return False
    if text.startswith("/") or text == "*":
        return True
    scheme, colon, _ = text.partition(":")
    if not colon or not _SCHEME.fullmatch(scheme):
        return False
    try:
        _ = urlsplit(text).port
    except ValueError:
        return False
    return True


def _ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return True


def _ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


def _cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isdecimal() or not bits.isascii() or (len(bits) > 1 and bits[0] == "0"):
        return False
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return _ipv4(address) or _ipv6(address)


def _uuid_of(version: str) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        plain = text.replace("-", "")
        return _UUID.fullmatch(text) is not None and plain[12] == version

    return fits


def _isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"\d{9}[\dXx]", digits, re.ASCII):
        return False
    values = [10 if digit in "Xx" else int(digit) for digit in digits]
    return sum((10 - place) * value for place, value in enumerate(values)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"\d{13}", digits, re.ASCII):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def _card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = [int(d) * (2 if place % 2 else 1) for place, d in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _short_name(text: str) -> bool:
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def _long_name(text: str) -> bool:
    return 0 < len(text) <= 253 and all(_LABEL.fullmatch(part) for part in text.split("."))


def _like(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "bsonobjectid": _like(_OBJECT_ID),
    "byte": _byte,
    "cidr": _cidr,
    "creditcard": _card,
    "date": _date,
    "datetime": _date_time,
    "duration": _duration,
    "email": _like(_EMAIL),
    "hexcolor": _like(_HEX_COLOR),
    "hostname": _like(_HOSTNAME),
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "k8slongname": _long_name,
    "k8sshortname": _short_name,
    "mac": _like(_MAC),
    "password": lambda text: True,
    "rgbcolor": _like(_RGB_COLOR),
    "ssn": _like(_SSN),
    "uri": _uri,
    "uuid": _like(_UUID),
    "uuid3": _uuid_of("3"),
    "uuid4": _uuid_of("4"),
    "uuid5": _uuid_of("5"),
}
"""By name without dashes, as the original compares them."""

NUMBER_FORMATS = frozenset(("int32", "int64", "float", "double"))


def format_check(name: str) -> Callable[[str], bool] | None:
    """The check of a format; None when it is unknown."""
    return FORMATS.get(name.replace("-", ""))
