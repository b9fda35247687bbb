"""Where things are: the data folder and the database in it."""

from pathlib import Path

from kinepy_server.cli.problems import Problem

MEMORY = "sqlite:///:memory:"


def database_url(data: Path, database: str | None) -> str:
    """The URL that was given, or that of the SQLite file in the data folder."""
    return database if database else f"sqlite:///{(data / 'kinepy.db').absolute()}"


def existing_database_url(data: Path, database: str | None) -> str:
    """As `database_url`, for commands that look at what is there and must not make a new database."""
    url = database_url(data, database)
    if is_memory(url):
        raise Problem("a database in memory lives inside its server: use --database with a file or a server")
    path = sqlite_path(url)
    if path is not None and not path.exists():
        raise Problem(f"there is no database at {path}: check --data or --database, or start `kinepy serve`")
    return url


def sqlite_path(url: str) -> Path | None:
    """The file of an SQLite URL; None for other databases."""
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None


def is_memory(url: str) -> bool:
    """Whether the database ends with its process."""
    return url in (MEMORY, "sqlite://")


def ensure_folder(data: Path) -> None:
    """Make the data folder and see that files can be made in it."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = data / ".kinepy-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise Problem(
            f"cannot write in the data folder {data} ({error.strerror}): give another one with --data"
        ) from error
