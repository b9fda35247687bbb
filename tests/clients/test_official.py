"""The official Python client, unmodified: typed and dynamic, watches that are resumed, elections."""

import gc
import json
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from queue import SimpleQueue
from typing import Any

import pytest
import urllib3
from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from tests.acceptance.servers import STALE, compact
from tests.processes import ServerProcess


@contextmanager
def connected(server: ServerProcess) -> Iterator[client.ApiClient]:
    """The client as the kubeconfig tells it to be."""
    with config.new_client_from_config(str(server.kubeconfig)) as api:
        yield api
        # Leaving the client closes its threads only.
        api.rest_client.pool_manager.clear()
    with warnings.catch_warnings():
        # It leaves the sockets of its watches to the garbage collector, which would tell a later test of them.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def api(shared_server: ServerProcess) -> Iterator[client.ApiClient]:
    with connected(shared_server) as found:
        yield found


def configmap(name: str, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data)


def deployment(name: str) -> client.V1Deployment:
    """The smallest one that is taken."""
    labels = {"app": name}
    container = client.V1Container(
        name="c", image="nginx", resources=client.V1ResourceRequirements(limits={"cpu": "100m"})
    )
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(
        selector=client.V1LabelSelector(match_labels=labels), template=template, replicas=2
    )
    return client.V1Deployment(metadata=client.V1ObjectMeta(name=name), spec=spec)


# --- typed


def test_a_stale_replace_loses(api: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(api)
    made = core.create_namespaced_config_map(namespace, configmap("c", v="0"))
    made.data = {"v": "1"}
    core.replace_namespaced_config_map("c", namespace, made)
    with pytest.raises(ApiException) as refused:
        core.replace_namespaced_config_map("c", namespace, made)
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")
    assert json.loads(refused.value.body)["message"] == STALE.format("c")
    assert core.read_namespaced_config_map("c", namespace).data == {"v": "1"}


def test_a_deployment_is_defaulted_patched_scaled_and_given_a_status(
    api: client.ApiClient, namespace: str
) -> None:
    apps = client.AppsV1Api(api)
    made = apps.create_namespaced_deployment(namespace, deployment("d"))
    assert (made.spec.revision_history_limit, made.spec.strategy.type) == (10, "RollingUpdate")
    # The client sends dicts as strategic merge patches: the container is found by its name.
    changes: Any = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}}}
    patched = apps.patch_namespaced_deployment("d", namespace, changes)
    container = patched.spec.template.spec.containers[0]
    assert (container.image, container.resources.limits) == ("nginx:2", {"cpu": "100m"})
    scaled = apps.patch_namespaced_deployment_scale("d", namespace, {"spec": {"replicas": 5}})
    assert (scaled.spec.replicas, scaled.status.selector) == (5, "app=d")
    status = apps.patch_namespaced_deployment_status("d", namespace, {"status": {"readyReplicas": 3}})
    assert (status.status.ready_replicas, status.metadata.generation) == (3, 3)


def test_pages_stay_at_one_snapshot(api: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(api)
    for i in range(5):
        core.create_namespaced_secret(namespace, client.V1Secret(metadata=client.V1ObjectMeta(name=f"s{i}")))
    first = core.list_namespaced_secret(namespace, limit=2)
    core.delete_namespaced_secret("s4", namespace)
    rest = core.list_namespaced_secret(namespace, limit=9, _continue=first.metadata._continue)
    assert [item.metadata.name for item in rest.items] == ["s2", "s3", "s4"]
    assert rest.metadata.resource_version == first.metadata.resource_version


def test_many_kinds_are_taken_and_read_back(api: client.ApiClient, namespace: str) -> None:
    rules = [client.V1PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["get"])]
    role = client.V1Role(metadata=client.V1ObjectMeta(name="r"), rules=rules)
    client.RbacAuthorizationV1Api(api).create_namespaced_role(namespace, role)
    review = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(
            resource_attributes=client.V1ResourceAttributes(verb="get", resource="pods", namespace=namespace)
        )
    )
    assert client.AuthorizationV1Api(api).create_self_subject_access_review(review).status.allowed
    event = client.EventsV1Event(
        metadata=client.V1ObjectMeta(name="e"),
        action="Test",
        event_time=datetime.now(UTC),
        reason="Tested",
        regarding=client.V1ObjectReference(kind="Role", name="r", namespace=namespace),
        reporting_controller="kinepy.test/tests",
        reporting_instance="one",
        type="Normal",
    )
    client.EventsV1Api(api).create_namespaced_event(namespace, event)
    assert client.CoreV1Api(api).read_namespaced_event("e", namespace).involved_object.name == "r"


# --- dynamic


def test_the_dynamic_client_discovers_applies_and_watches(api: client.ApiClient, namespace: str) -> None:
    configmaps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"v": "1"}}
    applied = configmaps.server_side_apply(body=body, namespace=namespace, field_manager="one")
    assert applied.metadata.managedFields[0].operation == "Apply"
    body["data"] = {"v": "2"}
    with pytest.raises(dynamic.exceptions.ConflictError, match=r'conflict with \\"one\\": \.data\.v'):
        configmaps.server_side_apply(body=body, namespace=namespace, field_manager="two")
    patch = {"data": {"w": "3"}}
    configmaps.patch(body=patch, name="c", namespace=namespace, content_type="application/merge-patch+json")
    configmaps.delete(name="c", namespace=namespace)
    since = applied.metadata.resourceVersion
    events = configmaps.watch(namespace=namespace, resource_version=since, timeout=10)
    seen = [(event["type"], event["object"].data.to_dict()) for event in islice(events, 2)]
    assert seen == [("MODIFIED", {"v": "1", "w": "3"}), ("DELETED", {"v": "1", "w": "3"})]


def test_the_dynamic_client_finds_every_group(api: client.ApiClient) -> None:
    resources = dynamic.DynamicClient(api).resources
    for version, kind in [
        ("apps/v1", "Deployment"),
        ("batch/v1", "CronJob"),
        ("policy/v1", "PodDisruptionBudget"),
    ]:
        assert resources.get(api_version=version, kind=kind).namespaced


# --- watches that go on


def changed(core: client.CoreV1Api, *values: str) -> None:
    for value in values:
        core.patch_namespaced_config_map("c", "default", {"data": {"v": value}})


def values(events: Iterator[Any], count: int) -> list[str]:
    return [event["object"].data["v"] for event in islice(events, count)]


def test_a_watch_misses_nothing_through_restarts_and_is_told_of_compaction(own_server: ServerProcess) -> None:
    with connected(own_server) as api:
        core, watcher = client.CoreV1Api(api), watch.Watch()
        since = core.create_namespaced_config_map("default", configmap("c", v="0")).metadata.resource_version
        following = {"namespace": "default", "field_selector": "metadata.name=c"}
        events = watcher.stream(core.list_namespaced_config_map, resource_version=since, **following)
        changed(core, "1", "2")
        assert values(events, 2) == ["1", "2"]
        own_server.stop()
        own_server.restart()
        changed(core, "3")
        assert values(events, 1) == ["3"], "the client goes on by itself after a clean end"
        own_server.kill()
        own_server.restart()
        with pytest.raises((urllib3.exceptions.ProtocolError, urllib3.exceptions.MaxRetryError)):
            next(events)
        changed(core, "4", "5")
        since = watcher.resource_version
        events = watcher.stream(core.list_namespaced_config_map, resource_version=since, **following)
        assert values(events, 2) == ["4", "5"]
        compact(own_server)
        expired = watch.Watch().stream(core.list_namespaced_config_map, resource_version="3", **following)
        with pytest.raises(ApiException) as told:
            next(expired)
        assert (told.value.status, str(told.value.reason).split(":")[0]) == (410, "Expired")


# --- elections


class Candidate(threading.Thread):
    """Someone who wants to lead, says so, and stops renewing its lease when it is told to give up."""

    def __init__(self, api: client.ApiClient, name: str, said: SimpleQueue[str]) -> None:
        super().__init__(daemon=True)
        self.name, self.said, self.give_up = name, said, threading.Event()
        lock = LeaseLock("lock", "default", name)
        lock.api_instance = client.CoordinationV1Api(api)
        config_ = electionconfig.Config(lock, 3, 2, 1, self.lead, lambda: said.put(f"{name} stopped"))
        self.election = leaderelection.LeaderElection(config_)

    def lead(self) -> None:
        self.said.put(f"{self.name} leads")
        self.give_up.wait()
        raise InterruptedError("told to give up")

    def run(self) -> None:
        self.election.run()


def test_another_candidate_leads_when_the_first_gives_up(api: client.ApiClient) -> None:
    said: SimpleQueue[str] = SimpleQueue()
    first, second = Candidate(api, "first", said), Candidate(api, "second", said)
    first.start()
    assert said.get(timeout=10) == "first leads"
    second.start()
    first.give_up.set()
    assert said.get(timeout=10) == "first stopped"
    assert said.get(timeout=10) == "second leads"
    second.give_up.set()
    assert said.get(timeout=10) == "second stopped"
    for candidate in (first, second):
        candidate.join(timeout=10)
        assert not candidate.is_alive()
