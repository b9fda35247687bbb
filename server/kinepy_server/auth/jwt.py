"""The parts of JSON Web Tokens, without the cryptography."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import orjson

ALGORITHM = "ES256"


class BadToken(ValueError):
    """A text that is no token, or one that this server's key did not sign."""


def encode_base64(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64(text: str) -> bytes:
    """The bytes of such a text. Raises `BadToken`."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadToken("not Base64") from None


def decode_json(part: str) -> dict[str, Any]:
    """An object that is a part of a token. Raises `BadToken`."""
    try:
        value = orjson.loads(decode_base64(part))
    except orjson.JSONDecodeError:
        raise BadToken("not JSON") from None
    if not isinstance(value, dict):
        raise BadToken("not an object")
    return value


def texts(value: object) -> Sequence[str]:
    """A claim that may be one text or several."""
    if isinstance(value, str):
        return (value,)
    return tuple(entry for entry in value if isinstance(entry, str)) if isinstance(value, list) else ()
