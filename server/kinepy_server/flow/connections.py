"""How many connections there may be."""

import logging
from collections.abc import Collection
from typing import Final

from kinepy_server.flow.again import ComingAgain

REFUSAL: Final = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\n"
    b"X-Content-Type-Options: nosniff\r\nContent-Length: 43\r\nConnection: close\r\n\r\n"
    b"Too many requests, please try again later.\n"
)
FILES_KEPT: Final = 256
"""Open files that are kept for the database and whatever else is no connection."""
FILES_MAX: Final = 65_536
"""What is asked for where there is no limit."""

_log = logging.getLogger("kinepy.http")


class Connections:
    """The open connections of a server, which the server itself keeps, and their limit."""

    def __init__(self, limit: int) -> None:
        self.limit = min(limit, max(1, open_files_max(limit + FILES_KEPT) - FILES_KEPT))
        self.refused = 0
        self.members: Collection[object] = ()
        self.coming_again = ComingAgain()

    def full(self, members: Collection[object]) -> bool:
        """Whether the newest of the open connections is one too many; it is then counted as refused."""
        if len(members) <= self.limit:
            return False
        self.refused += 1
        return True


def open_files_max(wanted: int) -> int:
    """How many files this process may open; at most what is wanted."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return wanted
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if files == resource.RLIM_INFINITY else min(wanted, files)


def raise_open_files() -> None:
    """Allow this process as many open files as it may allow itself: each connection is one."""
    try:
        import resource
    except ImportError:
        return
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if most == resource.RLIM_INFINITY else most
    if files == resource.RLIM_INFINITY or files >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    except ValueError:
        # Some kernels allow less than they say; then there are fewer connections.
        _log.info("the limit of open files stays at %d", files)
