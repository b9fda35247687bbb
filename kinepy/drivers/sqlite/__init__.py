"""The driver for SQLite: a file that several processes may share, or a database in memory."""

from kinepy.drivers.sqlite.open import open_file, open_memory

__all__ = ["open_file", "open_memory"]
