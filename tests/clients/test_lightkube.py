"""lightkube, unmodified: typed objects, server-side apply, status, watches, manifests."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from lightkube import Client, KubeConfig, codecs
from lightkube.core.exceptions import ApiError
from lightkube.models.core_v1 import ServicePort, ServiceSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Service
from lightkube.types import PatchType

from tests.processes import ServerProcess

MANIFESTS = Path(__file__).parent.parent / "manifests" / "shop.yaml"


@pytest.fixture
def client(shared_server: ServerProcess, namespace: str) -> Iterator[Client]:
    configured = KubeConfig.from_file(shared_server.kubeconfig)
    with Client(
        config=configured.get(), namespace=namespace, field_manager="lightkube", trust_env=False
    ) as found:
        yield found


def configmap(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data=data)


def test_a_stale_replace_loses(client: Client) -> None:
    made = client.create(configmap("c", v="0"))
    made.data = {"v": "1"}
    client.replace(made)
    with pytest.raises(ApiError) as refused:
        client.replace(made)
    assert (refused.value.status.code, refused.value.status.reason) == (409, "Conflict")


def test_fields_of_others_are_not_taken_without_force(client: Client) -> None:
    client.apply(configmap("c", v="1"), field_manager="one")
    with pytest.raises(ApiError, match="Apply failed with 1 conflict"):
        client.apply(configmap("c", v="2"), field_manager="two")
    taken = client.apply(configmap("c", v="2"), field_manager="two", force=True)
    assert taken.metadata is not None and taken.metadata.managedFields is not None
    assert [entry.manager for entry in taken.metadata.managedFields] == ["two"]


def test_a_service_is_given_an_address_that_stays(client: Client) -> None:
    spec = ServiceSpec(ports=[ServicePort(port=80, name="http")], selector={"app": "a"})
    made = client.create(Service(metadata=ObjectMeta(name="s"), spec=spec))
    assert made.spec is not None and made.spec.clusterIP
    patch = {"spec": {"ports": [{"port": 443, "name": "https"}]}}
    patched = client.patch(Service, "s", patch, patch_type=PatchType.STRATEGIC)
    assert patched.spec is not None and patched.spec.ports is not None
    assert [port.name for port in patched.spec.ports] == ["https", "http"]
    assert patched.spec.clusterIP == made.spec.clusterIP


def test_a_watch_from_a_list_tells_every_change_after_it(client: Client) -> None:
    client.create(configmap("c", v="0"))
    listed = client.list(ConfigMap, fields={"metadata.name": "c"})
    assert [found.data for found in listed] == [{"v": "0"}]
    for value in "12":
        client.patch(ConfigMap, "c", {"data": {"v": value}}, patch_type=PatchType.MERGE)
    client.delete(ConfigMap, "c")
    events = client.watch(
        ConfigMap, fields={"metadata.name": "c"}, resource_version=listed.resourceVersion, server_timeout=10
    )
    seen = [(kind, found.data) for kind, found in islice(events, 3)]
    assert seen == [("MODIFIED", {"v": "1"}), ("MODIFIED", {"v": "2"}), ("DELETED", {"v": "2"})]


def test_everything_of_a_set_of_manifests_is_applied_twice_without_a_change(
    client: Client, namespace: str
) -> None:
    objects = [
        one
        for one in codecs.load_all_yaml(MANIFESTS.read_text())
        if one.metadata and not one.kind.startswith("Cluster")
    ]
    versions = []
    for _ in range(2):
        applied = [client.apply(one, namespace=namespace) for one in objects]
        versions.append([one.metadata.resourceVersion for one in applied])
    assert versions[0] == versions[1]
    assert client.get(Deployment, "web").spec.replicas == 2
