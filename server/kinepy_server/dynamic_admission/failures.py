"""Why a webhook gave no usable answer, in the original's words."""

import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

import orjson

from kinepy_server.resources.strategies.keys import quoted

TEXT_BYTES_MAX = 2048
DEADLINE = "context deadline exceeded"
_UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority"
_CERTIFICATES: Mapping[int, str] = {
    10: "x509: certificate has expired or is not yet valid",
    9: "x509: certificate has expired or is not yet valid",
    18: _UNKNOWN_AUTHORITY,
    19: _UNKNOWN_AUTHORITY,
    20: _UNKNOWN_AUTHORITY,
    21: _UNKNOWN_AUTHORITY,
}
"""OpenSSL's verdict on a certificate -> the original's."""
_WRONG_NAME = 62
_STATUSES: Mapping[int, str] = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
_OWN_WORDS = frozenset((403, 406, 415))
"""Codes whose answers are shown as they are."""


class CallFailed(Exception):
    """The webhook gave no usable answer."""


class BrokenOff(Exception):
    """The answer ended before its end."""


def no_connection(error: BaseException, url: str) -> str:
    """Why no answer began to come."""
    cause: BaseException | None = error
    while cause is not None:
        text = _cause(cause, url)
        if text:
            return text
        cause = cause.__cause__ or cause.__context__
    return str(error) or "EOF"


def _cause(error: BaseException, url: str) -> str:
    address = urlsplit(url)
    text = str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: {_verdict(error, address.hostname or '')}"
    if isinstance(error, ssl.SSLError) and "WRONG_VERSION_NUMBER" in text:
        return "http: server gave HTTP response to HTTPS client"
    if isinstance(error, ConnectionRefusedError) or "Connection refused" in text:
        return f"dial tcp {address.netloc}: connect: connection refused"
    if (
        isinstance(error, UnicodeError)
        or "Name or service not known" in text
        or "No address associated" in text
    ):
        return f"dial tcp: lookup {address.hostname}: no such host"
    if isinstance(error, ConnectionResetError):
        return "read: connection reset by peer"
    if "without sending a response" in text:
        return "EOF"
    return ""


def _verdict(error: ssl.SSLCertVerificationError, host: str) -> str:
    if error.verify_code == _WRONG_NAME:
        return f"x509: certificate is not valid for any names, but wanted to match {host}"
    return _CERTIFICATES.get(error.verify_code, f"x509: {error.verify_message}")


def refused_by(code: int, content: bytes, content_type: str) -> str:
    """What an answer with another code than one of success says: the message of a Status, else words for the code."""
    try:
        status = orjson.loads(content)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and status.get("message"):
        return str(status["message"])
    is_text = not content_type or content_type.startswith("text/")
    text = content[:TEXT_BYTES_MAX].decode("utf-8", "replace").strip() if is_text else "unknown"
    if code in _OWN_WORDS:
        return text
    if code in _STATUSES:
        return _STATUSES[code]
    if code >= 500:
        return f"an error on the server ({quoted(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"
