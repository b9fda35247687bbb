"""New objects get their classes and what these say."""

from typing import Any

from tests.http.writing import CORE, Api

PODS, CLAIMS = f"{CORE}/pods", f"{CORE}/persistentvolumeclaims"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
NETWORK = "/apis/networking.k8s.io/v1"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
BACKEND = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def marked(name: str, mark: str, **members: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "annotations": {mark: "true"}}, **members}


async def test_a_pod_has_the_priority_of_its_class(memory_api: Api) -> None:
    await memory_api.post(PRIORITIES, {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"})
    spec = (await memory_api.post(PODS, pod(priorityClassName="high"))).body["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")


async def test_a_pod_of_a_class_that_is_not_there_is_403(memory_api: Api) -> None:
    reply = await memory_api.post(PODS, pod(priorityClassName="high"))
    why = "no PriorityClass with name high was found"
    assert (reply.code, reply.message) == (403, f'pods "p" is forbidden: {why}')


async def test_a_pod_without_a_class_has_the_lowest_default_one(memory_api: Api) -> None:
    for name, value in (("a", 9), ("b", 3)):
        await memory_api.post(PRIORITIES, {"metadata": {"name": name}, "value": value, "globalDefault": True})
    spec = (await memory_api.post(PODS, pod())).body["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("b", 3)


async def test_a_priority_that_contradicts_the_class_is_403(memory_api: Api) -> None:
    assert (await memory_api.post(PODS, pod(priority=5))).code == 403
    assert (await memory_api.post(PODS, pod(priority=0))).code == 201


async def test_a_claim_gets_the_default_storage_class_unless_it_names_none(memory_api: Api) -> None:
    mark = "storageclass.kubernetes.io/is-default-class"
    await memory_api.post(STORAGE, marked("fast", mark, provisioner="e.com/p"))
    made = await memory_api.post(CLAIMS, {"metadata": {"name": "v"}, "spec": CLAIM})
    assert made.body["spec"]["storageClassName"] == "fast"
    none = await memory_api.post(
        CLAIMS, {"metadata": {"name": "w"}, "spec": {**CLAIM, "storageClassName": ""}}
    )
    assert none.body["spec"]["storageClassName"] == ""


async def test_an_ingress_gets_the_default_class(memory_api: Api) -> None:
    mark = "ingressclass.kubernetes.io/is-default-class"
    path = f"{NETWORK}/namespaces/default/ingresses"
    await memory_api.post(f"{NETWORK}/ingressclasses", marked("one", mark, spec={"controller": "e.com/c"}))
    made = await memory_api.post(path, {"metadata": {"name": "i"}, "spec": BACKEND})
    assert made.body["spec"]["ingressClassName"] == "one"
    await memory_api.post(f"{NETWORK}/ingressclasses", marked("two", mark, spec={"controller": "e.com/c"}))
    assert (await memory_api.post(path, {"metadata": {"name": "j"}, "spec": BACKEND})).code == 403
