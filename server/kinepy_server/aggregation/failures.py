"""Why a backend did not answer, for the commonest cases in the original's words. Pure."""

import socket
import ssl
from collections.abc import Iterator

from kinepy_server.aggregation.apiservice import ApiService
from kinepy_server.aggregation.endpoints import Address
from kinepy_server.errors import PlainError

_UNKNOWN_AUTHORITY = frozenset((2, 18, 19, 20, 21))
_NOT_IN_TIME = frozenset((9, 10))
_OTHER_NAME = frozenset((62, 64))
"""Numbers of OpenSSL's X509_V_ERR_*."""
_X509 = "tls: failed to verify certificate: x509: "


class Unreachable(Exception):
    """The backend gave no answer; the text says why."""


class Untrusted(Unreachable):
    """The certificates that the backend is to be trusted by are none."""


def unavailable() -> PlainError:
    """503 of a service that is known not to be there."""
    return PlainError(503, "service unavailable\n")


def unreachable(error: Unreachable) -> PlainError:
    """503 of a backend that does not answer; 500 where it cannot even be asked."""
    if isinstance(error, Untrusted):
        return PlainError(500, f"{error}\n")
    return PlainError(503, f"error trying to reach service: {error}\n")


def words(error: BaseException, address: Address, service: ApiService) -> str:
    """Why there was no answer."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _certificate_words(cause, service)
        if isinstance(cause, ConnectionRefusedError):
            return f"dial tcp {address.netloc}: connect: connection refused"
        if isinstance(cause, socket.gaierror):
            return f"dial tcp: lookup {address.host}: no such host"
        if isinstance(cause, ConnectionResetError):
            return "read: connection reset by peer"
    text = str(error) or type(error).__name__
    # The loop tells of several addresses of one name in one text only.
    refused = "Connect call failed" in text
    return f"dial tcp {address.netloc}: connect: connection refused" if refused else text


def _certificate_words(error: ssl.SSLCertVerificationError, service: ApiService) -> str:
    code = error.verify_code
    if code in _UNKNOWN_AUTHORITY:
        return f"{_X509}certificate signed by unknown authority"
    if code in _NOT_IN_TIME:
        return f"{_X509}certificate has expired or is not yet valid: {error.verify_message}"
    if code in _OTHER_NAME and service.service is not None:
        return f"{_X509}certificate is not valid for any names, but wanted to match {service.service.server_name}"
    return f"{_X509}{error.verify_message}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what it came from, and so on; of several at once the last one."""
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[-1]
        else:
            cause = cause.__cause__ or cause.__context__
