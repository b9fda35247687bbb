"""Checks of objects beyond their types: what is required, ranges, names, and what may not change.

A table says for each type which fields are checked, in which order, and how. The tables hold wherever the type
appears, as defaults do.
"""
