"""The registry: which resources there are, and what is special about each, as data."""
