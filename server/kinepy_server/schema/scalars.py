"""Base64 as the original reads and writes it."""

import re
from base64 import b64decode, b64encode

_CANONICAL = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?"
)
_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def base64_size(text: str) -> int:
    """How many bytes a canonical base64 text stands for."""
    return len(text) // 4 * 3 - text.endswith("=") - text.endswith("==")


def base64_text(text: str) -> str:
    """The canonical form: line ends dropped, unused bits zero. Raises ValueError with the original's text."""
    if _CANONICAL.fullmatch(text):
        return text
    joined = text.replace("\r", "").replace("\n", "")
    try:
        return b64encode(b64decode(joined, validate=True)).decode()
    except ValueError:
        raise ValueError(f"illegal base64 data at input byte {_bad_byte(text)}") from None


def _bad_byte(text: str) -> int:
    """The byte that the original's decoder names: of a group cut short, its first one."""
    size = len(text.encode())
    data = [(at, chr(byte)) for at, byte in enumerate(text.encode()) if byte not in b"\r\n"] + [(size, "")]
    place = 0
    for index, (at, character) in enumerate(data):
        if not character:
            return size - place
        if character in _ALPHABET:
            place = (place + 1) % 4
            continue
        if character != "=" or place < 2:
            return at
        following = data[index + 1]
        if place == 2:
            if following[1] != "=":
                return following[0] if not following[1] else following[0] - 1
            following = data[index + 2]
        return following[0]
    return size
