"""What the schema's version says about a database."""

from kinepy.errors import DatabaseNotKinepy, SchemaNewer
from kinepy.sql.tables import SCHEMA_VERSIONS, metadata

TABLE_NAMES = frozenset(metadata.tables)


def needs_migration(version: str | None, *, shown: str) -> bool:
    """Whether migrations are missing; None is an empty database. Raises `SchemaNewer` for a version unknown here."""
    if version is None:
        return True
    if version not in SCHEMA_VERSIONS:
        raise SchemaNewer(
            f"{shown} has schema version {version}, but this kinepy knows only up to {SCHEMA_VERSIONS[-1]}: "
            "upgrade kinepy"
        )
    return version != SCHEMA_VERSIONS[-1]


def not_kinepy(shown: str, tables: list[str]) -> DatabaseNotKinepy:
    """The error for a database that holds another program's tables."""
    names = ", ".join(sorted(tables)[:3])
    return DatabaseNotKinepy(
        f"{shown} holds something else than a kinepy store (it has {names}): name another database"
    )
