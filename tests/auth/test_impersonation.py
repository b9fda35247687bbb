"""Acting as another user: who may, as whom, and what is refused."""

import pytest

from kinepy_server.auth.authenticate import ADMIN
from kinepy_server.auth.authorize import Access
from kinepy_server.auth.user import User, authenticated
from kinepy_server.errors import StatusError
from kinepy_server.request import Request
from tests.auth.rbac import fresh_authorizer

JANE = authenticated("jane")
VERSION = "/version"
authorize = Access(fresh_authorizer())


def acting(who: User, /, **headers: str) -> User:
    """The user as whom a request for a public path is done."""
    names = {f"impersonate-{name.replace('_', '-')}": value for name, value in headers.items()}
    request = Request("GET", VERSION, {}, names, who, verb="get")
    authorize(request)
    return request.user


def refusal_of(who: User, /, **headers: str) -> tuple[int, str]:
    """Code and text of a refused request."""
    with pytest.raises(StatusError) as caught:
        acting(who, **headers)
    return caught.value.code, caught.value.message


def test_without_the_headers_nobody_changes() -> None:
    assert acting(JANE) is JANE


def test_the_admin_may_act_as_anybody() -> None:
    assert acting(ADMIN, user="jane") == JANE
    assert acting(ADMIN, user="jane", group="a, b", uid="7", extra_scopes="x") == User(
        "jane", ("a", "b", "system:authenticated"), "7", {"scopes": ["x"]}
    )


def test_a_service_account_brings_its_groups() -> None:
    assert acting(ADMIN, user="system:serviceaccount:ns:sa").groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:ns",
        "system:authenticated",
    )


def test_nobody_is_not_authenticated() -> None:
    assert acting(ADMIN, user="system:anonymous").groups == ("system:unauthenticated",)


def test_others_may_not() -> None:
    assert refusal_of(JANE, user="bob") == (
        403,
        'users "bob" is forbidden: User "jane" cannot impersonate resource "users" in API group ""'
        " at the cluster scope",
    )
    assert refusal_of(JANE, user="system:serviceaccount:ns:sa") == (
        403,
        'serviceaccounts "sa" is forbidden: User "jane" cannot impersonate resource "serviceaccounts"'
        ' in API group "" in the namespace "ns"',
    )


def test_a_group_without_a_user_is_a_bad_request() -> None:
    assert refusal_of(ADMIN, group="devs, ops") == (
        400,
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs", "ops"},'
        " Extra:map[string][]string(nil)} without impersonating a user name",
    )
