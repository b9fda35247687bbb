"""The HTTP face: the Kubernetes API on a kinepy store."""
