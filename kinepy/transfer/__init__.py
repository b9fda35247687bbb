"""Moving a store between databases: the portable format, and what reads and writes it.

`form` is the format itself, `files` how it lies on disk, `exporting` and `loading` the ways out of a snapshot and
into a transaction, `kine` what a kine's rows become.
"""
