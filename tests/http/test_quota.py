"""A namespace's ResourceQuotas bound how many objects there are, and what they ask for."""

import asyncio
from typing import Any

from tests.http.writing import CONFIGMAPS, CORE, LEASES, Api, configmap

PODS, QUOTA = f"{CORE}/pods", f"{CORE}/resourcequotas/q"


async def quota(api: Api, **hard: str) -> None:
    hard = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    await api.post(f"{CORE}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}})


def pod(name: str, **resources: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": resources}]
    return {"metadata": {"name": name}, "spec": {"containers": containers}}


async def test_one_object_too_many_is_403(memory_api: Api) -> None:
    await quota(memory_api, configmaps="2")
    codes = [(await memory_api.post(CONFIGMAPS, configmap(name))).code for name in ("a", "b")]
    reply = await memory_api.post(CONFIGMAPS, configmap("c"))
    why = "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
    assert codes == [201, 201]
    assert (reply.code, reply.message) == (403, f'configmaps "c" is forbidden: {why}')
    assert (await memory_api.get(QUOTA)).body["status"]["used"] == {"configmaps": "2"}


async def test_what_was_there_before_counts_and_what_is_gone_does_not(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap("a"))
    await quota(memory_api, count__configmaps="1")
    assert (await memory_api.post(CONFIGMAPS, configmap("b"))).code == 403
    await memory_api.delete(f"{CONFIGMAPS}/a")
    assert (await memory_api.post(CONFIGMAPS, configmap("b"))).code == 201


async def test_writers_at_once_never_exceed_a_quota(api: Api) -> None:
    await quota(api, configmaps="5")
    replies = await asyncio.gather(*(api.post(CONFIGMAPS, configmap(f"c{n}")) for n in range(20)))
    assert sorted(reply.code for reply in replies) == [201] * 5 + [403] * 15


async def test_pods_are_bounded_by_what_they_ask_for(memory_api: Api) -> None:
    await quota(memory_api, requests_cpu="1", limits_memory="3Gi")
    first = pod("a", requests={"cpu": "600m"}, limits={"memory": "2Gi"})
    assert (await memory_api.post(PODS, first)).code == 201
    reply = await memory_api.post(PODS, pod("b", requests={"cpu": "600m"}))
    assert "requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1" in reply.message
    used = (await memory_api.get(QUOTA)).body["status"]["used"]
    assert used == {"limits.memory": "2Gi", "requests.cpu": "600m"}


async def test_a_quota_for_pods_without_claims_counts_only_those(memory_api: Api) -> None:
    spec = {"hard": {"pods": "0"}, "scopes": ["BestEffort"]}
    await memory_api.post(f"{CORE}/resourcequotas", {"metadata": {"name": "q"}, "spec": spec})
    assert (await memory_api.post(PODS, pod("a"))).code == 403
    assert (await memory_api.post(PODS, pod("b", requests={"cpu": "1"}))).code == 201


async def test_a_dry_run_is_not_charged(memory_api: Api) -> None:
    await quota(memory_api, configmaps="1")
    await memory_api.post(f"{CONFIGMAPS}?dryRun=All", configmap("a"))
    assert "used" not in (await memory_api.get(QUOTA)).body["status"]


async def test_what_is_applied_or_put_into_being_is_charged_too(memory_api: Api) -> None:
    await quota(memory_api, configmaps="0", count__leases_coordination_k8s_io="0")
    applied = await memory_api.patch(
        f"{CONFIGMAPS}/a?fieldManager=m", configmap("a"), content_type="application/apply-patch+yaml"
    )
    put = await memory_api.put(f"{LEASES}/l", {"metadata": {"name": "l"}})
    assert (applied.code, put.code) == (403, 403)
