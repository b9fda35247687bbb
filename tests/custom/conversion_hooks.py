"""A definition with two versions of different shape, and webhooks that convert between them."""

from collections.abc import Callable
from typing import Any

import orjson

from tests.admission.hooks import Answer, ca_bundle
from tests.custom.definitions import GROUP, spec_schema, version

Json = dict[str, Any]
V1, V2 = f"{GROUP}/v1", f"{GROUP}/v2"
WIDGETS2 = f"/apis/{V2}/namespaces/default/widgets"
TEXT = {"type": "string"}
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


def other_shape(obj: Json, wanted: str) -> Json:
    """v1 has `pair: "a:b"`, v2 has `left: a` and `right: b`."""
    spec = dict(obj["spec"])
    if wanted == V2:
        spec["left"], _, spec["right"] = spec.pop("pair").partition(":")
    else:
        spec["pair"] = f"{spec.pop('left')}:{spec.pop('right')}"
    return {**obj, "apiVersion": wanted, "spec": spec}


def success(request: Json, each: Callable[[Json, str], Json] = other_shape) -> Json:
    """The response that converts all objects of a request."""
    wanted = request["desiredAPIVersion"]
    objects = [each(one, wanted) for one in request["objects"]]
    return {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}


def review_of(response: Json) -> Json:
    """The review with a response."""
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}


def reviewing(response: Callable[[Json], Json] = success) -> Answer:
    """The answer with a response in its review."""
    return lambda request: orjson.dumps(review_of(response(request)))


def two_versions() -> list[Json]:
    """v1, in which objects are stored, and v2."""
    number = {"type": "integer"}
    first = spec_schema(pair=TEXT, replicas=number)
    second = spec_schema(left=TEXT, right=TEXT, replicas=number)
    subresources = {"status": {}, "scale": SCALE}
    fields = [{"jsonPath": ".spec.left"}]
    column = {"name": "Left", "type": "string", "jsonPath": ".spec.left"}
    return [
        version("v1", first, subresources=subresources),
        version(
            "v2",
            second,
            subresources=subresources,
            selectableFields=fields,
            additionalPrinterColumns=[column],
        ),
    ]


def converted_by(url: str) -> Json:
    """The conversion of a definition."""
    client = {"url": url, "caBundle": ca_bundle()}
    return {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    }
