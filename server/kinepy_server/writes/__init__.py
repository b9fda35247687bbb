"""Writes: create, update, patch, delete. Decisions are pure functions; handlers only carry them out."""
