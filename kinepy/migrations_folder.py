"""Where the Alembic environment is: inside an installed package, or at the top of a checkout."""

from pathlib import Path


def migrations_folder() -> Path:
    """The folder that holds `env.py` and `versions`."""
    package = Path(__file__).resolve().parent
    for folder in (package / "_migrations", package.parent / "migrations"):
        if (folder / "env.py").is_file():
            return folder
    raise FileNotFoundError(f"kinepy's migrations are missing beside {package}: install kinepy again")
