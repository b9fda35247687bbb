"""Bounded concurrency: who is let in, who waits, in which order, and who is told to come again."""
