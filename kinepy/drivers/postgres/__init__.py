"""The driver for PostgreSQL 14 and later."""
