"""Database URLs: what they name, and what of them may be shown."""

import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from kinepy.errors import BadDatabaseUrl

FORMS: Final = (
    "sqlite:///relative.db, sqlite:////absolute.db, sqlite:///:memory: or "
    "postgresql://user:password@host:port/name"
)
MEMORY: Final = ":memory:"
ENCODE: Final = "write / ? # [ ] @ and : in user and password as %2F %3F %23 %5B %5D %40 and %3A"

_SQLITE: Final = "sqlite:///"
_POSTGRES: Final = re.compile(r"^postgres(ql)?(\+asyncpg)?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """A parsed URL: `target` is a file's path, `:memory:`, or a DSN of PostgreSQL. `shown` has no password."""

    kind: Literal["sqlite", "postgres"]
    target: str
    shown: str

    def __repr__(self) -> str:
        return f"DatabaseUrl({self.shown!r})"

    @property
    def is_memory(self) -> bool:
        """Whether the database lives in this process only."""
        return self.kind == "sqlite" and self.target == MEMORY


def parse_url(url: str) -> DatabaseUrl:
    """Understand a database URL. Raises `BadDatabaseUrl` with a line that names the forms."""
    if _POSTGRES.match(url):
        return _parse_postgres(_POSTGRES.sub("postgresql://", url))
    if url.startswith("sqlite:"):
        return _parse_sqlite(url)
    scheme = url.split(":", 1)[0] if ":" in url else ""
    problem = f"database URL has the unknown scheme {scheme!r}" if scheme else "database URL has no scheme"
    raise BadDatabaseUrl(f"{problem}: use {FORMS}")


def _parse_sqlite(url: str) -> DatabaseUrl:
    path = url[len(_SQLITE) :]
    if not url.startswith(_SQLITE) or not path:
        raise BadDatabaseUrl(f"database URL {url!r} names no file: use {FORMS}")
    if "?" in path or "\x00" in path:
        raise BadDatabaseUrl(f"database URL {url!r} must be a plain file path: options are not supported")
    return DatabaseUrl("sqlite", path, url)


def _parse_postgres(url: str) -> DatabaseUrl:
    try:
        parts = urlsplit(url)
        _ = parts.hostname
        if "," not in parts.netloc:
            _ = parts.port
    except ValueError:
        # The text of the error may quote a piece of the password, and so may every URL that is cut wrongly.
        raise BadDatabaseUrl(f"database URL cannot be understood: {ENCODE}; use {FORMS}") from None
    if "@" in parts.path + parts.fragment + parts.query.split("=", 1)[0]:
        raise BadDatabaseUrl(f"database URL has an @ behind its host: {ENCODE}; use {FORMS}")
    shown = url
    if parts.password is not None:
        shown = url.replace(f":{parts.password}@", ":***@", 1)
    if not unquote(parts.path.lstrip("/")) and "dbname=" not in parts.query:
        raise BadDatabaseUrl(f"database URL {shown!r} names no database: use {FORMS}")
    return DatabaseUrl("postgres", url, re.sub(r"(password=)[^&]*", r"\1***", shown))
