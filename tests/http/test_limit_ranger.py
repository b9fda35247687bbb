"""A namespace's LimitRanges give defaults to pods and hold them to limits."""

# ruff: noqa: E501 -- recorded texts stand on one line

from typing import Any

import pytest

from tests.http.writing import CORE, Api, managers

PODS, CLAIMS = f"{CORE}/pods", f"{CORE}/persistentvolumeclaims"
ANNOTATION = "kubernetes.io/limit-ranger"


async def limit(api: Api, kind: str, **item: Any) -> None:
    await api.post(
        f"{CORE}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [{"type": kind, **item}]}}
    )


def pod(**resources: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]},
    }


async def test_a_container_that_asks_for_nothing_gets_the_defaults_and_nobody_owns_them(
    memory_api: Api,
) -> None:
    await limit(
        memory_api, "Container", default={"cpu": "1"}, defaultRequest={"cpu": "500m", "memory": "1Gi"}
    )
    reply = await memory_api.post(PODS, pod())
    resources = reply.body["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"cpu": "1"}, "requests": {"cpu": "500m", "memory": "1Gi"}}
    told = "LimitRanger plugin set: cpu, memory request for container c; cpu limit for container c"
    assert reply.body["metadata"]["annotations"] == {ANNOTATION: told}
    assert ANNOTATION not in str(managers(reply))


@pytest.mark.parametrize(
    ("item", "resources", "why"),
    [
        ({"max": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, "maximum cpu usage per Container is 1, but limit is 2"),
        ({"min": {"memory": "1Gi"}}, {"requests": {"memory": "512Mi"}}, "minimum memory usage per Container is 1Gi, but request is 512Mi"),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}, "cpu max limit to request ratio per Container is 2, but provided ratio is 3"),
    ],
)  # fmt: skip
async def test_a_container_outside_the_limits_is_403(
    memory_api: Api, item: Any, resources: Any, why: str
) -> None:
    await limit(memory_api, "Container", **item)
    reply = await memory_api.post(PODS, pod(**resources))
    assert reply.code == 403
    assert reply.message.startswith(f'pods "p" is forbidden: {why}')


async def test_a_pod_is_judged_as_a_whole(memory_api: Api) -> None:
    await limit(memory_api, "Pod", max={"cpu": "1"})
    body = pod(limits={"cpu": "600m"})
    body["spec"]["containers"].append({**body["spec"]["containers"][0], "name": "d"})
    reply = await memory_api.post(PODS, body)
    why = "maximum cpu usage per Pod is 1, but limit is 1200m"
    assert (reply.code, reply.message) == (403, f'pods "p" is forbidden: {why}')


async def test_a_claim_of_too_much_storage_is_403(memory_api: Api) -> None:
    await limit(memory_api, "PersistentVolumeClaim", max={"storage": "1Gi"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    reply = await memory_api.post(CLAIMS, {"metadata": {"name": "v"}, "spec": spec})
    why = "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"
    assert (reply.code, reply.message) == (403, f'persistentvolumeclaims "v" is forbidden: {why}')
