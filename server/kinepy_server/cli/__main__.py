"""`python -m kinepy_server.cli` is the command `kinepy`."""

from kinepy_server.cli import main

if __name__ == "__main__":
    main()
