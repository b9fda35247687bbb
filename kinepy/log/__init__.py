"""The log: commit in groups, follow in order, fan out, compact."""
