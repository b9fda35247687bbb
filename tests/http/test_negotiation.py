"""Accept and Content-Type are read as the original reads them, and refused in its words."""

# ruff: noqa: E501 -- recorded texts stand on one line

import pytest

from kinepy_server.errors import StatusError
from kinepy_server.negotiate import Accepted, body_type, check_form, negotiate, patch_type
from kinepy_server.resources.builtins import builtin_registry
from tests.http.writing import Api

ROUTE = (
    "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml,"
    " application/vnd.kubernetes.protobuf"
)
STREAMS = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
LISTED = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
META = "g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "accepted"),
    [
        ("", Accepted()),
        ("*/*", Accepted()),
        ("application/json", Accepted()),
        ("text/html, application/json;q=0.1", Accepted()),
        ("application/vnd.kubernetes.protobuf,application/json", Accepted("protobuf")),
        ("application/json,application/vnd.kubernetes.protobuf", Accepted()),
        ("application/vnd.kubernetes.protobuf;stream=watch", Accepted("protobuf")),
        (
            f"application/vnd.kubernetes.protobuf;as=Table;v=v1;{META}, application/json;as=Table;v=v1;{META}",
            Accepted("json", "Table"),
        ),
        ("application/json;stream=watch", Accepted()),
        ("application/yaml", Accepted("yaml")),
        ("application/yaml;q=0.1, application/json", Accepted()),
        ("application/json;pretty=1", Accepted(pretty=True)),
        (f"application/json;as=Table;v=v1;{META}", Accepted("json", "Table")),
        (f"application/json;as=Table;v=v1beta1;{META}", Accepted("json", "Table", "v1beta1")),
        (f"application/json;as=Table;v=v2;{META}, application/json", Accepted()),
        (f"application/yaml;as=PartialObjectMetadata;v=v1;{META}", Accepted("yaml", "PartialObjectMetadata")),
    ],
)
def test_the_best_clause_that_can_be_served_is(accept: str, accepted: Accepted) -> None:
    assert negotiate(accept, verb="get") == accepted


def test_objects_without_a_message_are_shown_in_the_next_best_type() -> None:
    both = "application/vnd.kubernetes.protobuf,application/json"
    assert negotiate(both, verb="get", protobuf=False) == Accepted()


def test_metadata_alone_always_has_a_message() -> None:
    form = f"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;{META}"
    accepted = negotiate(form, verb="get", protobuf=False)
    assert accepted == Accepted("protobuf", "PartialObjectMetadata")


@pytest.mark.parametrize(
    ("accept", "verb", "message"),
    [
        ("text/plain", "list", ROUTE + STREAMS),
        ("text/plain", "get", ROUTE),
        ("application/*", "get", ROUTE),
        ("APPLICATION/JSON", "get", ROUTE),
        (
            f"application/json;as=Table;v=v2;{META}",
            "get",
            f"only the following media types are accepted: {LISTED}",
        ),
        (
            f"application/vnd.kubernetes.protobuf;as=Table;v=v1;{META}",
            "get",
            f"only the following media types are accepted: {LISTED}",
        ),
    ],
)
def test_what_cannot_be_served_is_406(accept: str, verb: str, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        negotiate(accept, verb=verb)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (406, "NotAcceptable", message)


@pytest.mark.parametrize(
    ("form", "is_list", "message"),
    [
        ("PartialObjectMetadata", True, "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"),
        ("PartialObjectMetadataList", False, "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"),
    ],
)  # fmt: skip
def test_crossed_forms_of_partial_metadata_are_406(form: str, is_list: bool, message: str) -> None:
    resource = builtin_registry().lookup("", "v1", "configmaps")
    assert resource is not None
    accepted = negotiate(f"application/json;as={form};v=v1;{META}", verb="get")
    with pytest.raises(StatusError) as caught:
        check_form(accepted, resource, is_list=is_list)
    assert caught.value.message == message
    check_form(accepted, resource, is_list=not is_list)


@pytest.mark.parametrize(
    ("content_type", "found"),
    [
        ("", "json"),
        ("application/json", "json"),
        ("application/json; charset=utf-8", "json"),
        ("Application/JSON", "json"),
        ("application/yaml", "yaml"),
        ("application/vnd.kubernetes.protobuf", "protobuf"),
    ],
)
def test_the_type_of_a_body_is_known(content_type: str, found: str) -> None:
    assert body_type(content_type) == found


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/merge-patch+json"])
def test_another_type_of_body_is_415(content_type: str) -> None:
    with pytest.raises(StatusError) as caught:
        body_type(content_type)
    assert caught.value.code == 415
    assert caught.value.message == (
        f"the body of the request was in an unknown format - accepted media types include: {LISTED}"
    )


def test_another_type_of_patch_is_415_with_the_router_s_text() -> None:
    served = ("application/merge-patch+json",)
    assert patch_type("application/merge-patch+json; charset=utf-8", served) == served[0]
    with pytest.raises(StatusError) as caught:
        patch_type("application/json", served)
    assert (caught.value.message, caught.value.details) == ("415: Unsupported Media Type", {})


async def test_what_is_nowhere_stored_has_rows_if_it_has_columns(memory_api: Api) -> None:
    """As kubectl asks; reviews have none."""
    accept = {"accept": f"application/json;as=Table;v=v1;{META},application/json"}
    reply = await memory_api.get("/api/v1/componentstatuses", headers=accept)
    assert (reply.code, reply.body["kind"]) == (200, "Table")
    assert [column["name"] for column in reply.body["columnDefinitions"]] == [
        "Name",
        "Status",
        "Message",
        "Error",
    ]
