"""Encodings of bodies, and the other forms in which an object can be shown."""
