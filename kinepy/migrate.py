"""Bring a database's schema up to date.

Whoever starts does this. A database that is current costs one query: Alembic is imported only when there is work,
which one process does while the others wait.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from kinepy.clock import Clock, SystemClock
from kinepy.drivers.open import require_postgres
from kinepy.drivers.url import parse_url
from kinepy.migrations_folder import migrations_folder
from kinepy.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

logger = logging.getLogger(__name__)


async def migrate(url: str, settings: Settings | None = None, clock: Clock | None = None) -> bool:
    """Make or upgrade the schema at a URL; returns whether there was anything to do.

    Safe when many processes start at once. Raises `DatabaseUnusable`: nothing is changed then. A database in memory
    is made by its driver, and there is nothing to do.
    """
    database = parse_url(url)
    settings, clock = settings or Settings(), clock or SystemClock()
    if database.is_memory:
        return False
    if database.kind == "sqlite":
        from kinepy.drivers.sqlite.schema import migrate_file

        changed = await asyncio.to_thread(
            migrate_file, database.target, settings, clock=clock, upgrade=run_alembic
        )
    else:
        require_postgres()
        from kinepy.drivers.postgres.schema import migrate_postgres

        changed = await migrate_postgres(database, settings, clock=clock, upgrade=run_alembic)
    if changed:
        logger.info("migrated database=%s", database.shown)
    return changed


def run_alembic(connection: "Connection") -> None:
    """Run the missing migrations in the connection's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
