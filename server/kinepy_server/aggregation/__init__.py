"""APIServices: group versions that other servers serve, behind this one (kube-aggregator's part)."""
