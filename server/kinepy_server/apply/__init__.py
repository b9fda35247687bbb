"""Field sets and managedFields: who owns which field, and server-side apply.

Stands by itself: objects are plain JSON values, what they are made of is told by the schema types alone.
"""
