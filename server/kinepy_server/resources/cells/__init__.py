"""The Table cells of the built-in types, in the order of their columns, by resource."""

from collections.abc import Mapping

from kinepy_server.resources.cells import cluster, network, small, storage, workloads
from kinepy_server.resources.cells.common import Cells
from kinepy_server.resources.cells.pods import pod

_ADMISSION, _STORAGE = "admissionregistration.k8s.io/v1", "storage.k8s.io/v1"
_RBAC, _FLOW, _NETWORK = (
    "rbac.authorization.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1",
    "networking.k8s.io/v1",
)

CELLS: Mapping[str, Cells] = {
    f"{_ADMISSION}/mutatingadmissionpolicies": cluster.mutating_policy,
    f"{_ADMISSION}/mutatingadmissionpolicybindings": cluster.policy_binding,
    f"{_ADMISSION}/mutatingwebhookconfigurations": workloads.webhooks,
    f"{_ADMISSION}/validatingadmissionpolicies": cluster.validating_policy,
    f"{_ADMISSION}/validatingadmissionpolicybindings": cluster.policy_binding,
    f"{_ADMISSION}/validatingwebhookconfigurations": workloads.webhooks,
    "apiregistration.k8s.io/v1/apiservices": cluster.api_service,
    "apps/v1/controllerrevisions": workloads.controller_revision,
    "apps/v1/daemonsets": workloads.daemon_set,
    "apps/v1/deployments": workloads.deployment,
    "apps/v1/replicasets": workloads.replica_set,
    "apps/v1/statefulsets": workloads.stateful_set,
    "autoscaling/v1/horizontalpodautoscalers": workloads.autoscaler_v1,
    "autoscaling/v2/horizontalpodautoscalers": workloads.autoscaler,
    "batch/v1/cronjobs": workloads.cron_job,
    "batch/v1/jobs": workloads.job,
    "certificates.k8s.io/v1/certificatesigningrequests": cluster.signing_request,
    "coordination.k8s.io/v1/leases": small.lease,
    "discovery.k8s.io/v1/endpointslices": network.endpoint_slice,
    "events.k8s.io/v1/events": small.event,
    f"{_FLOW}/flowschemas": cluster.flow_schema,
    f"{_FLOW}/prioritylevelconfigurations": cluster.priority_level,
    f"{_NETWORK}/ingressclasses": network.ingress_class,
    f"{_NETWORK}/ingresses": network.ingress,
    f"{_NETWORK}/ipaddresses": network.ip_address,
    f"{_NETWORK}/networkpolicies": network.network_policy,
    f"{_NETWORK}/servicecidrs": network.service_cidr,
    "node.k8s.io/v1/runtimeclasses": network.runtime_class,
    "policy/v1/poddisruptionbudgets": workloads.disruption_budget,
    f"{_RBAC}/clusterrolebindings": cluster.binding,
    f"{_RBAC}/rolebindings": cluster.binding,
    "resource.k8s.io/v1/deviceclasses": small.name_and_age,
    "resource.k8s.io/v1/resourceclaims": storage.resource_claim,
    "resource.k8s.io/v1/resourceclaimtemplates": small.name_and_age,
    "resource.k8s.io/v1/resourceslices": storage.resource_slice,
    "scheduling.k8s.io/v1/priorityclasses": workloads.priority_class,
    f"{_STORAGE}/csidrivers": storage.csi_driver,
    f"{_STORAGE}/csinodes": storage.csi_node,
    f"{_STORAGE}/storageclasses": storage.storage_class,
    f"{_STORAGE}/volumeattachments": storage.attachment,
    f"{_STORAGE}/volumeattributesclasses": storage.attributes_class,
    "v1/componentstatuses": cluster.component,
    "v1/configmaps": small.configmap,
    "v1/endpoints": network.endpoints,
    "v1/events": small.core_event,
    "v1/namespaces": small.namespace,
    "v1/nodes": cluster.node,
    "v1/persistentvolumeclaims": storage.claim,
    "v1/persistentvolumes": storage.volume,
    "v1/pods": pod,
    "v1/podtemplates": workloads.pod_template,
    "v1/replicationcontrollers": workloads.replication_controller,
    "v1/resourcequotas": cluster.quota,
    "v1/secrets": small.secret,
    "v1/serviceaccounts": small.name_and_age,
    "v1/services": network.service,
}
"""The others have the columns of types without a printer of their own."""
