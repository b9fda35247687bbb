"""All checks: type -> fields and their checks, in the original's order."""

from kinepy_server.resources.checks import admission, cluster, network, pods, selectors, volumes, workloads
from kinepy_server.resources.checks.entries import Table

CHECKS: Table = {
    **selectors.TABLE,
    **pods.TABLE,
    **volumes.TABLE,
    **workloads.TABLE,
    **network.TABLE,
    **cluster.TABLE,
    **admission.TABLE,
}
