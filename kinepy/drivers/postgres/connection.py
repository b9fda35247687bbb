"""Connections to PostgreSQL."""

import hashlib
from dataclasses import dataclass
from typing import Final

import asyncpg

from kinepy.clock import Clock
from kinepy.drivers.postgres.errors import DATABASE_ERRORS, may_pass, translate
from kinepy.drivers.url import DatabaseUrl
from kinepy.settings import Settings

_BACKOFF_FIRST_S: Final = 0.02
_REPLY_SLACK_S: Final = 5.0
"""How much longer than the server's own limit a reply is waited for: the server tells more when it gives up."""

_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)
"""What is acknowledged is on disk. How many standbys have it too is the operator's choice."""

_WATCHED: Final = {
    # A client that is gone is waited for no longer; not all servers' systems can tell.
    "client_connection_check_interval": "1000",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    # Neither is one that does not take what it asked for.
    "tcp_user_timeout": "10000",
}
"""How the server finds out about a client that is gone without a word, and may hold a lock."""

_LINEAGE: Final = (
    "SELECT system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)"
    " FROM pg_control_system()"
)


@dataclass(frozen=True, slots=True)
class Names:
    """What the store of a schema is known by inside its database: its advisory locks and a channel."""

    order_lock: int
    maintenance_lock: int
    migration_lock: int
    precedence_lock: int
    channel: str

    @classmethod
    def of_schema(cls, schema: str) -> "Names":
        """The names for a schema; locks and channels are per database already."""

        def number(purpose: str) -> int:
            digest = hashlib.sha256(f"kinepy {purpose} {schema}".encode()).digest()
            return int.from_bytes(digest[:8], "big", signed=True)

        channel = f"kinepy_{number('channel') & 0xFFFF_FFFF:08x}"
        return cls(
            order_lock=number("order"),
            maintenance_lock=number("maintenance"),
            migration_lock=number("migration"),
            precedence_lock=number("precedence"),
            channel=channel,
        )


def _limits(settings: Settings, *, unlimited: bool) -> dict[str, str]:
    lock_ms = 0 if unlimited else int(settings.lock_timeout_s * 1000)
    statement_ms = 0 if unlimited else int(settings.statement_timeout_s * 1000)
    idle_ms = 0 if unlimited else int(settings.idle_in_transaction_timeout_s * 1000)
    return {
        "lock_timeout": str(lock_ms),
        "statement_timeout": str(statement_ms),
        # A process that stands still while it holds the order lock loses it.
        "idle_in_transaction_session_timeout": str(idle_ms),
        # Compiling a plan to machine code takes longer than any statement here.
        "jit": "off",
        # A role or a database may have another default, on which the promises do not hold.
        "default_transaction_isolation": "read committed",
        # Plans are kept, and those made while the tables were small would scan them whole ever after.
        "enable_seqscan": "off",
    }


async def connect(
    database: DatabaseUrl, settings: Settings, *, unlimited: bool = False
) -> asyncpg.Connection:
    """Open a connection. Raises asyncpg's errors. `unlimited` is for migrations."""
    connection = await asyncpg.connect(
        database.target,
        timeout=settings.lock_timeout_s,
        command_timeout=None if unlimited else settings.statement_timeout_s + _REPLY_SLACK_S,
        statement_cache_size=settings.postgres_statement_cache,
        server_settings={"application_name": "kinepy"},
    )
    try:
        # Not as startup parameters: poolers refuse those they do not know.
        options = _limits(settings, unlimited=unlimited)
        if settings.postgres_schema is not None:
            options["search_path"] = quote_name(settings.postgres_schema)
        for name, value in options.items():
            await connection.execute(f"SELECT set_config('{name}', {quote_text(value)}, false)")
        await connection.execute(_DURABLE)
        await _have_watched(connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _have_watched(connection: asyncpg.Connection) -> None:
    """Have the server notice when this client is gone, as far as it can."""
    for name, value in _WATCHED.items():
        try:
            await connection.execute(f"SELECT set_config('{name}', '{value}', false)")
        except (asyncpg.InvalidParameterValueError, asyncpg.UndefinedObjectError):
            continue


async def lineage_of(connection: asyncpg.Connection) -> str | None:
    """The server's identity and timeline, which a standby that takes over and a restored server change; None where
    the server does not tell. Raises asyncpg's error on a standby."""
    try:
        lineage: str = await connection.fetchval(_LINEAGE)
    except (
        asyncpg.InsufficientPrivilegeError,
        asyncpg.UndefinedFunctionError,
        asyncpg.FeatureNotSupportedError,
    ):
        return None
    return lineage


async def connect_patiently(
    database: DatabaseUrl, settings: Settings, clock: Clock, *, patience_s: float
) -> asyncpg.Connection:
    """Open a connection to a server that may be away for a moment. Raises the library's errors."""
    deadline, pause = clock.monotonic() + patience_s, _BACKOFF_FIRST_S
    while True:
        try:
            return await connect(database, settings)
        except DATABASE_ERRORS as error:
            if not may_pass(error) or clock.monotonic() + pause >= deadline:
                raise translate(error) from error
        await clock.sleep(pause)
        pause = min(pause * 2, settings.reconnect_backoff_max_s)


async def disconnect(connection: asyncpg.Connection) -> None:
    """Close a connection: in good order if it is idle, at once if it is in the middle of something."""
    if connection.is_closed():
        return
    if connection.is_in_transaction():
        connection.terminate()
        return
    try:
        await connection.close(timeout=1.0)
    except DATABASE_ERRORS:
        connection.terminate()


async def roll_back(connection: asyncpg.Connection) -> None:
    """Undo the open transaction; a connection that cannot is closed, which undoes it too."""
    if connection.is_closed():
        return
    try:
        await connection.execute("ROLLBACK")
    except DATABASE_ERRORS:
        connection.terminate()


def quote_name(name: str) -> str:
    """An identifier, for the statements that take no parameters."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """A string, for the statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"
