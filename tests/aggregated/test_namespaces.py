"""Namespaces are the host's."""

from tests.aggregated.servers import Behind
from tests.custom.definitions import widget
from tests.patience import until
from tests.processes import ServerProcess, message, ok

NAMESPACES = "/api/v1/namespaces"


def widgets(namespace: str) -> str:
    """The address of a namespace's widgets."""
    return f"/apis/example.com/v1/namespaces/{namespace}/widgets"


def test_nothing_is_created_in_a_namespace_that_the_host_does_not_have(behind: Behind) -> None:
    with behind.server.client() as admin:
        reply = admin.send("POST", widgets("nowhere"), widget("a"))
    assert message(reply, 404, "NotFound") == 'namespaces "nowhere" not found'
    assert reply.json()["details"] == {"name": "nowhere", "kind": "namespaces"}


def test_a_namespace_that_was_made_a_moment_ago_is_there(host: ServerProcess, behind: Behind) -> None:
    with host.client() as there, behind.server.client() as here:
        ok(there.send("POST", NAMESPACES, {"metadata": {"name": "fresh"}}), 201)
        ok(here.send("POST", widgets("fresh"), widget("a")), 201)


def test_nothing_new_comes_into_a_namespace_that_goes_and_what_is_there_can_go(
    host: ServerProcess, behind: Behind
) -> None:
    with host.client() as there, behind.server.client() as here:
        ok(there.send("POST", NAMESPACES, {"metadata": {"name": "leaving"}}), 201)
        ok(here.send("POST", widgets("leaving"), widget("a")), 201)
        ok(there.send("DELETE", f"{NAMESPACES}/leaving"))
        generated = widget("") | {"metadata": {"generateName": "b"}}
        until(lambda: here.send("POST", widgets("leaving"), generated).status_code == 403)
        reply = here.send("POST", widgets("leaving"), widget("b"))
        text = message(reply, 403, "Forbidden")
        assert text.endswith(
            "unable to create new content in namespace leaving because it is being terminated"
        )
        assert reply.json()["details"]["causes"][0]["reason"] == "NamespaceTerminating"
        ok(here.merge_patch(f"{widgets('leaving')}/a", {"metadata": {"labels": {"a": "b"}}}))
        ok(here.send("DELETE", widgets("leaving")))
