"""Errors for people: one line that says what to do, and an exit code that is not 0."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Problem(Exception):
    """Something the user can put right; the text is one line and says how."""


@contextmanager
def reported() -> Iterator[None]:
    """Print expected errors as one line and exit with 1; let all others through with their traceback."""
    try:
        yield
    except Exception as error:
        text = explanation(error)
        if text is None:
            raise
        print(f"kinepy: {' '.join(text.split())}", file=sys.stderr)
        raise SystemExit(1) from None


def explanation(error: BaseException) -> str | None:
    """The line for an expected error; None for one that is a defect."""
    from kinepy.errors import KinepyError
    from kinepy.transfer.problems import BadTransfer
    from kinepy_server.auth.delegated.host_config import BadHostConfig
    from kinepy_server.auth.pki import BadPki
    from kinepy_server.auth.signing import BadSigningKey
    from kinepy_server.auth.tls import BadTls
    from kinepy_server.auth.tokens import BadTokenFile
    from kinepy_server.custom.given import BadDefinition

    if isinstance(error, BaseExceptionGroup):
        # A server's tasks fail as a group; what the first of them says is what is wrong.
        return explanation(error.exceptions[0]) if len(error.exceptions) == 1 else None
    expected = (BadDefinition, BadHostConfig, BadPki, BadSigningKey, BadTls, BadTokenFile, BadTransfer)
    if isinstance(error, (Problem, KinepyError, *expected)):
        return str(error)
    return None
