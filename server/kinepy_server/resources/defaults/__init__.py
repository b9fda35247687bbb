"""Defaults: what the server fills in where a client said nothing, by type."""
