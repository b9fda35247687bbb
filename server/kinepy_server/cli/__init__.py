"""The command `kinepy`: reads settings, opens the store, runs.

Modules are imported where they are used, so that `kinepy --help` stays instant and a server starts in a second.
"""


def main() -> None:
    """Run the command line. What it writes is for its user alone, unless it is meant for others."""
    import os

    os.umask(0o077)
    from kinepy_server.cli.commands import app

    app()
