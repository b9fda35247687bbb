"""Claims and volumes that are deleted go when they are not in use any more."""

from kinepy_server.context import Context
from tests.controllers.objects import until
from tests.http.writing import Api, api_over

CONTROLLERS = ["storageprotection"]
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PODS = "/api/v1/namespaces/default/pods"
VOLUMES = "/api/v1/persistentvolumes"
SIZE = {"storage": "1Gi"}


def key_of(name: str) -> bytes:
    return f"/registry/persistentvolumeclaims/default/{name}".encode()


async def make_claim(api: Api, name: str) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": SIZE}}
    made = await api.post(CLAIMS, {"metadata": {"name": name}, "spec": spec})
    assert made.body["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


async def test_a_claim_that_nobody_uses_goes_at_once(context: Context) -> None:
    async with api_over(context, controllers=CONTROLLERS) as api:
        await make_claim(api, "c")
        await api.delete(f"{CLAIMS}/c")
        await until(context, lambda objects: key_of("c") not in objects)


async def test_a_claim_stays_until_its_pod_is_gone(context: Context) -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "used"}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    async with api_over(context, controllers=CONTROLLERS) as api:
        for name in ("used", "free"):
            await make_claim(api, name)
        assert (await api.post(PODS, {"metadata": {"name": "p"}, "spec": spec})).code == 201
        for name in ("used", "free"):
            await api.delete(f"{CLAIMS}/{name}")
        objects = await until(context, lambda objects: key_of("free") not in objects)
        assert key_of("used") in objects
        await api.delete(f"{PODS}/p")
        await until(context, lambda objects: key_of("used") not in objects)


async def test_a_volume_that_is_not_bound_goes(context: Context) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": SIZE, "hostPath": {"path": "/v"}}
    async with api_over(context, controllers=CONTROLLERS) as api:
        assert (await api.post(VOLUMES, {"metadata": {"name": "v"}, "spec": spec})).code == 201
        await api.delete(f"{VOLUMES}/v")
        await until(context, lambda objects: b"/registry/persistentvolumes/v" not in objects)
