"""Whether the body of a write agrees with its URL (HTTP-7)."""

from kinepy_server.errors import bad_request
from kinepy_server.request import Request
from kinepy_server.request_info import check_url_name as check_url_name
from kinepy_server.resources.resource import JsonObject, Resource

_OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


def settle_namespace(request: Request, resource: Resource, metadata: JsonObject) -> None:
    """Fill in an absent namespace, clear one that does not belong; 400 for another one than the URL's."""
    if not resource.namespaced:
        metadata.pop("namespace", None)
    elif metadata.get("namespace", request.namespace) != request.namespace:
        raise bad_request(_OTHER_NAMESPACE)
    else:
        metadata["namespace"] = request.namespace


def check_name(request: Request, metadata: JsonObject) -> None:
    """400 unless the object has the URL's name."""
    name = metadata.get("name")
    if not name:
        text = (
            f"the name of the object ({request.name} based on URL) was undeterminable: name must be provided"
        )
        raise bad_request(text)
    if name != request.name:
        text = f"the name of the object ({name}) does not match the name on the URL ({request.name})"
        raise bad_request(text)
