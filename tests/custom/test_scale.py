"""The Scale of custom objects, where it differs from that of built-in ones."""

from tests.custom.definitions import WIDGETS, Crds, spec_schema, version, widget
from tests.http.writing import Api

PATHS = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


async def test_no_scale_of_a_custom_object_is_applied(api: Api, crds: Crds) -> None:
    schema = spec_schema(replicas={"type": "integer"})
    await crds.define(version("v1", schema, subresources={"status": {}, "scale": PATHS}))
    made = await api.post(WIDGETS, widget(spec={"replicas": 1}))
    config = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "w"},
        "spec": {"replicas": 2},
    }
    target = f"{WIDGETS}/w/scale?fieldManager=m&force=true"
    reply = await api.patch(target, config, content_type="application/apply-patch+yaml")
    assert reply.code == 500
    assert "no corresponding type for autoscaling/v1, Kind=Scale" in reply.message
    assert (await api.get(f"{WIDGETS}/w")).version == made.version
