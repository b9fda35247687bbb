"""The Warning header (HTTP-12)."""

from collections.abc import Sequence

_TOTAL_BYTES_MAX = 4096
_EACH_BYTES_MAX = 256


def warning_headers(texts: Sequence[str]) -> list[bytes]:
    """The values of the Warning headers for texts, each text once.

    When all together are longer than 4 KiB every text is cut to 256 bytes, and what then still does not
    fit is left out.
    """
    unique = [text.encode() for text in dict.fromkeys(texts)]
    if sum(map(len, unique)) > _TOTAL_BYTES_MAX:
        unique = [text[:_EACH_BYTES_MAX].decode(errors="ignore").encode() for text in unique]
    headers, total = [], 0
    for text in unique:
        total += len(text)
        if total > _TOTAL_BYTES_MAX:
            break
        headers.append(b'299 - "%b"' % _quoted(text))
    return headers


def _quoted(text: bytes) -> bytes:
    escaped = text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return bytes(byte if byte >= 0x20 and byte != 0x7F else 0x20 for byte in escaped)
