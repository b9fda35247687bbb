"""Selectors: which objects a request means. Pure; compiled to closures once per request."""
