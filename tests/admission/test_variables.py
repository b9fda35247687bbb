"""What is known of a policy's variables: the types of values and lists of them, nothing of objects."""

import pytest

from kinepy_server.cel.errors import CompileError
from kinepy_server.cel.terms import Terms
from tests.admission.objects import binding, policy, put_in_force
from tests.http.writing import CONFIGMAPS, Api


def terms(expression: str) -> Terms:
    found = Terms(params=False, variables=True)
    found.define("v", expression)
    return found


@pytest.mark.parametrize("expression", ["request.userInfo", "namespaceObject", "[request.kind][0]"])
def test_an_object_may_have_any_member(expression: str) -> None:
    terms(expression).compile("variables.v.whatever == 1")


@pytest.mark.parametrize("expression", ["'a'", "request.userInfo.username", "request.userInfo.groups[0]"])
def test_a_text_stays_a_text(expression: str) -> None:
    with pytest.raises(CompileError, match="no matching overload for '_==_'"):
        terms(expression).compile("variables.v == 1")


def test_a_list_of_texts_stays_one() -> None:
    with pytest.raises(CompileError, match="no matching overload for '_==_'"):
        terms("request.userInfo.groups").compile("variables.v[0] == 1")


async def test_a_time_in_a_variable_is_a_time(api: Api) -> None:
    variables = [{"name": "made", "expression": "namespaceObject.metadata.creationTimestamp"}]
    validation = {"expression": "variables.made > timestamp('2100-01-01T00:00:00Z')", "message": "too old"}
    await put_in_force(api, policy(validations=[validation], variables=variables), binding())
    reply = await api.post(CONFIGMAPS, {"metadata": {"name": "c"}})
    assert (reply.code, reply.message.rpartition(": ")[2]) == (422, "too old")
