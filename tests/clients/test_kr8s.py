"""kr8s, unmodified: objects, selectors, waiting, watching, scaling."""

from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import kr8s
import pytest
from kr8s._async_utils import as_sync_func
from kr8s.asyncio.objects import ConfigMap as AsyncConfigMap
from kr8s.objects import ConfigMap, Deployment, Pod, object_from_spec

from tests.processes import ServerProcess

# The last version that kr8s names is older than the one that the server is.
pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported:UserWarning")


@pytest.fixture
def api(shared_server: ServerProcess, namespace: str) -> Iterator[Any]:
    found: Any = kr8s.api(kubeconfig=str(shared_server.kubeconfig), namespace=namespace)
    yield found
    as_sync_func(found._session.aclose)()  # kr8s has no other way to close its connections


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_an_object_is_created_patched_labelled_and_deleted(api: Any) -> None:
    made = ConfigMap({**configmap("c", v="0")}, api=api, namespace=api.namespace)
    made.create()
    made.patch({"data": {"v": "1"}})
    made.label(tier="gold")
    found = list(api.get("configmaps", label_selector="tier=gold"))
    assert [(one.name, dict(one.data)) for one in found] == [("c", {"v": "1"})]
    made.delete()
    made.wait("delete", timeout=10)
    assert not made.exists()


def test_a_deployment_is_scaled(api: Any) -> None:
    container = {"name": "c", "image": "nginx"}
    labels = {"app": "d"}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    made = Deployment({"metadata": {"name": "d"}, "spec": spec}, api=api, namespace=api.namespace)
    made.create()
    made.patch({"spec": {"replicas": 4}})
    made.refresh()
    assert (made.replicas, made.spec.strategy.type) == (4, "RollingUpdate")


def test_waiting_for_a_pod_ends_when_its_status_says_so(api: Any) -> None:
    spec = {"containers": [{"name": "c", "image": "nginx"}]}
    pod = Pod({"metadata": {"name": "p"}, "spec": spec}, api=api, namespace=api.namespace)
    pod.create()
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    pod.patch({"status": {"phase": "Running", "conditions": [condition]}}, subresource="status")
    pod.wait("condition=Ready", timeout=10)
    assert pod.status.phase == "Running"


def test_what_a_dictionary_says_is_an_object_of_its_kind(api: Any) -> None:
    spec = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": api.namespace}}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "nginx"}]}}
    job = object_from_spec({**spec, "spec": {"template": template}}, api=api)
    job.create()
    assert job.spec.backoffLimit == 6


async def test_a_watch_tells_every_change(shared_server: ServerProcess, namespace: str) -> None:
    api = await kr8s.asyncio.api(kubeconfig=str(shared_server.kubeconfig), namespace=namespace)
    made = await AsyncConfigMap(configmap("c", v="0"), api=api, namespace=namespace)
    await made.create()
    seen: list[tuple[str, str]] = []
    follow = api.watch("configmaps", namespace=namespace, field_selector="metadata.name=c")
    async with aclosing(follow) as events:
        async for kind, found in events:
            seen.append((kind, found.data["v"]))
            if kind == "DELETED":
                break
            if len(seen) < 4:
                await made.patch({"data": {"v": str(len(seen))}})
            else:
                await made.delete()
    assert seen == [("ADDED", "0"), ("MODIFIED", "1"), ("MODIFIED", "2"), ("MODIFIED", "3"), ("DELETED", "3")]
    await api._session.aclose()
