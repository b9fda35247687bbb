"""What a user may do, and the text that tells what not."""

from typing import Any

import pytest

from kinepy_server.auth.authenticate import ADMIN, NOBODY
from kinepy_server.auth.authorize import Access
from kinepy_server.auth.user import authenticated
from kinepy_server.errors import StatusError
from kinepy_server.request import Request
from tests.auth.rbac import asked, fresh_authorizer, resource

JANE = authenticated("jane")
AUTHORIZER = fresh_authorizer()
authorize = Access(AUTHORIZER)


def may(request: Request) -> bool:
    """Whether the user of a request may do it."""
    return AUTHORIZER.allows(request.user, request)


def refused(request: Request) -> StatusError:
    """The error of a request that must be refused."""
    with pytest.raises(StatusError) as caught:
        authorize(request)
    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
    return caught.value


def test_masters_may_do_everything() -> None:
    authorize(asked(ADMIN, **resource("delete", name="x")))
    authorize(asked(ADMIN, path="/metrics", verb="get"))


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
def test_health_and_version_are_public(path: str) -> None:
    assert may(asked(NOBODY, path=path, verb="get"))
    assert not may(asked(NOBODY, method="POST", path=path, verb="post"))


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1", "/apis/apps/v1", "/openapi/v3"])
def test_discovery_is_for_users(path: str) -> None:
    assert may(asked(JANE, path=path, verb="get"))
    assert not may(asked(NOBODY, path=path, verb="get"))


def test_paths_that_only_begin_like_public_ones_are_not() -> None:
    assert not may(asked(JANE, path="/healthzz", verb="get"))
    assert not may(asked(JANE, path="/apifrob", verb="get"))


CASES = [
    (
        resource("list", namespace="ns"),
        'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "ns"',
        {"kind": "configmaps"},
    ),
    (
        resource("get", namespace="ns", name="x"),
        'configmaps "x" is forbidden: User "jane" cannot get resource "configmaps" in API group ""'
        ' in the namespace "ns"',
        {"name": "x", "kind": "configmaps"},
    ),
    (
        resource("list", "nodes"),
        'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
        {"kind": "nodes"},
    ),
    (
        resource("patch", "deployments", group="apps", namespace="ns", name="x", subresource="status"),
        'deployments.apps "x" is forbidden: User "jane" cannot patch resource "deployments/status"'
        ' in API group "apps" in the namespace "ns"',
        {"name": "x", "group": "apps", "kind": "deployments"},
    ),
]


@pytest.mark.parametrize(("meaning", "text", "details"), CASES)
def test_a_refusal_names_user_verb_resource_and_scope(
    meaning: dict[str, Any], text: str, details: dict[str, str]
) -> None:
    error = refused(asked(JANE, **meaning))
    assert error.message == text
    assert error.details == details


def test_a_refused_path_is_named() -> None:
    error = refused(asked(JANE, path="/metrics", verb="get"))
    assert error.message == 'forbidden: User "jane" cannot get path "/metrics"'
    assert error.details == {}


def test_user_names_are_safe_to_show_in_a_page() -> None:
    error = refused(asked(authenticated("a<b>&c"), path="/metrics", verb="get"))
    assert 'User "a&lt;b&gt;&amp;c"' in error.message
