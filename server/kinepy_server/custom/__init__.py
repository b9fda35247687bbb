"""Custom resources: what CustomResourceDefinitions make of the server."""
