"""/healthz, /livez, /readyz as the original answers them."""

import httpx
import pytest

from kinepy_server.background import BackgroundServer


def get(server: BackgroundServer, path: str) -> httpx.Response:
    """One request to the server."""
    return httpx.get(server.url + path, trust_env=False)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/livez/ping", "/readyz/database"])
def test_a_healthy_server_says_ok(kinepy_server: BackgroundServer, path: str) -> None:
    answer = get(kinepy_server, path)
    assert (answer.status_code, answer.text) == (200, "ok")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_verbose_lists_every_check(kinepy_server: BackgroundServer) -> None:
    assert get(kinepy_server, "/readyz?verbose").text == (
        "[+]ping ok\n[+]database ok\n[+]rights ok\n[+]shutdown ok\nreadyz check passed\n"
    )


def test_checks_can_be_excluded(kinepy_server: BackgroundServer) -> None:
    assert get(kinepy_server, "/healthz?verbose&exclude=database&exclude=frob").text == (
        "[+]ping ok\n[+]database excluded: ok\n[+]rights ok\n"
        'warn: some health checks cannot be excluded: no matches for "frob"\n'
        "healthz check passed\n"
    )


def test_liveness_does_not_depend_on_the_database(kinepy_server: BackgroundServer) -> None:
    assert "database" not in get(kinepy_server, "/livez?verbose").text


def test_an_unknown_check_is_not_found(kinepy_server: BackgroundServer) -> None:
    answer = get(kinepy_server, "/healthz/frob")
    assert (answer.status_code, answer.text) == (404, "404 page not found\n")
