"""Defaults that depend on nothing else: type -> field -> value.

They hold wherever the type appears: a container's in a Pod as well as in a CronJob's template.
"""

from collections.abc import Mapping
from typing import Any

_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_FILES = {"defaultMode": 420}
_CEPH = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
_SCALE_IO = {"storageMode": "ThinProvisioned", "fsType": "xfs"}
_ISCSI = {"iscsiInterface": "default"}
_DEVICE_REQUEST = {"allocationMode": "ExactCount"}
_EIGHTY_PERCENT = {"type": "Utilization", "averageUtilization": 80}
_HTTPS = {"port": 443}
_RBAC_GROUP = "rbac.authorization.k8s.io"
_WEBHOOK = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}

VALUES: Mapping[str, Mapping[str, Any]] = {
    # admissionregistration, apiextensions, apiregistration
    "admissionregistration.v1.MatchResources": {
        "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
    },
    "admissionregistration.v1.MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.v1.MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    "admissionregistration.v1.NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration.v1.RuleWithOperations": {"scope": "*"},
    "admissionregistration.v1.ServiceReference": _HTTPS,
    "admissionregistration.v1.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.v1.ValidatingWebhook": _WEBHOOK,
    "apiextensions.v1.CustomResourceDefinitionSpec": {"conversion": {"strategy": "None"}},
    "apiextensions.v1.ServiceReference": _HTTPS,
    "apiregistration.v1.ServiceReference": _HTTPS,
    # apps, batch, autoscaling
    "apps.v1.DaemonSetSpec": {"revisionHistoryLimit": 10},
    "apps.v1.DaemonSetUpdateStrategy": {"type": "RollingUpdate"},
    "apps.v1.DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    "apps.v1.DeploymentStrategy": {"type": "RollingUpdate"},
    "apps.v1.ReplicaSetSpec": {"replicas": 1},
    "apps.v1.RollingUpdateDaemonSet": {"maxUnavailable": 1, "maxSurge": 0},
    "apps.v1.RollingUpdateDeployment": {"maxUnavailable": "25%", "maxSurge": "25%"},
    "apps.v1.RollingUpdateStatefulSetStrategy": {"partition": 0},
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "apps.v1.StatefulSetSpec": {
        "replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady",
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    },
    "apps.v1.StatefulSetUpdateStrategy": {"type": "RollingUpdate"},
    "autoscaling.v1.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "autoscaling.v2.HorizontalPodAutoscalerSpec": {
        "minReplicas": 1,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": _EIGHTY_PERCENT}}],
    },
    "batch.v1.CronJobSpec": {
        "concurrencyPolicy": "Allow", "suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
    },
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    # core
    "v1.AzureDiskVolumeSource": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "v1.ConfigMapVolumeSource": _FILES,
    "v1.Container": _CONTAINER,
    "v1.ContainerPort": {"protocol": "TCP"},
    "v1.DownwardAPIVolumeSource": _FILES,
    "v1.EndpointPort": {"protocol": "TCP"},
    "v1.EphemeralContainer": _CONTAINER,
    "v1.GRPCAction": {"service": ""},
    "v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "v1.HostPathVolumeSource": {"type": ""},
    "v1.ISCSIPersistentVolumeSource": _ISCSI,
    "v1.ISCSIVolumeSource": _ISCSI,
    "v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "v1.PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    "v1.PodSpec": {
        "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {},
        "terminationGracePeriodSeconds": 30, "schedulerName": "default-scheduler",
    },
    "v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "v1.ProjectedVolumeSource": _FILES,
    "v1.RBDPersistentVolumeSource": _CEPH,
    "v1.RBDVolumeSource": _CEPH,
    "v1.ReplicationControllerSpec": {"replicas": 1},
    "v1.ScaleIOPersistentVolumeSource": _SCALE_IO,
    "v1.ScaleIOVolumeSource": _SCALE_IO,
    "v1.SecretVolumeSource": _FILES,
    "v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "v1.ServicePort": {"protocol": "TCP"},
    "v1.ServiceSpec": {"sessionAffinity": "None", "type": "ClusterIP"},
    # the others
    "discovery.v1.EndpointPort": {"name": "", "protocol": "TCP"},
    "flowcontrol.v1.ExemptPriorityLevelConfiguration": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    "flowcontrol.v1.FlowSchemaSpec": {"matchingPrecedence": 1000},
    "flowcontrol.v1.LimitedPriorityLevelConfiguration": {"nominalConcurrencyShares": 30, "lendablePercent": 0},
    "flowcontrol.v1.QueuingConfiguration": {"handSize": 8, "queues": 64, "queueLengthLimit": 50},
    "networking.v1.IngressClassParametersReference": {"scope": "Cluster"},
    "networking.v1.NetworkPolicyPort": {"protocol": "TCP"},
    "rbac.v1.RoleRef": {"apiGroup": _RBAC_GROUP},
    "resource.v1.DeviceSubRequest": _DEVICE_REQUEST,
    "resource.v1.ExactDeviceRequest": _DEVICE_REQUEST,
    "scheduling.v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "storage.v1.CSIDriverSpec": {
        "attachRequired": True, "podInfoOnMount": False, "storageCapacity": False, "requiresRepublish": False,
        "seLinuxMount": False, "fsGroupPolicy": "ReadWriteOnceWithFSType", "volumeLifecycleModes": ["Persistent"],
    },
    "storage.v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}  # fmt: skip
