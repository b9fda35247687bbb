"""The front proxy's word counts, and nobody else's."""

import ssl
from pathlib import Path
from socket import create_connection

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.aggregated.authority import DAY, Authority, Shown
from tests.aggregated.servers import WIDGETS, Behind, grant, refused_text
from tests.custom.definitions import widget
from tests.processes import Client, ServerProcess, ok


def test_who_the_front_proxy_names_has_the_rights_that_the_host_gives(behind: Behind, folder: Path) -> None:
    with behind.proxied(folder) as jane:
        ok(jane.send("POST", WIDGETS, widget("proxied")), 201)
    with behind.proxied(folder, x_remote_user="bob") as bob:
        text = refused_text(bob.get(WIDGETS))
    assert 'User "bob" cannot list resource "widgets" in API group "example.com" in the namespace' in text


@pytest.mark.parametrize("name", ["proxy-a", "proxy-b"])
def test_each_allowed_name_is_a_front_proxy(
    name: str, behind: Behind, proxies: Authority, folder: Path
) -> None:
    with behind.client(proxies.issue(name), folder, x_remote_user="jane") as jane:
        ok(jane.get(WIDGETS))


def test_headers_without_a_certificate_are_nobody_s_word(behind: Behind, folder: Path) -> None:
    with behind.client(None, folder, x_remote_user="jane", x_remote_group="system:masters") as forger:
        assert 'User "system:anonymous" cannot list' in refused_text(forger.get(WIDGETS))


def test_headers_with_a_user_s_certificate_say_nothing(
    behind: Behind, clients: Authority, folder: Path
) -> None:
    with behind.client(clients.issue("mallory"), folder, x_remote_user="jane") as forger:
        assert 'User "mallory" cannot list' in refused_text(forger.get(WIDGETS))


def test_a_user_s_certificate_with_the_front_proxy_s_name_is_no_front_proxy(
    behind: Behind, clients: Authority, folder: Path
) -> None:
    with behind.client(clients.issue("proxy-a"), folder, x_remote_user="jane") as forger:
        assert 'User "proxy-a" cannot list' in refused_text(forger.get(WIDGETS))


def test_another_name_than_those_allowed_is_no_front_proxy(
    behind: Behind, proxies: Authority, folder: Path
) -> None:
    with behind.client(proxies.issue("proxy-c"), folder, x_remote_user="jane") as other:
        reply = other.get(WIDGETS)
    assert (reply.status_code, reply.json()["reason"]) == (401, "Unauthorized")


def test_a_front_proxy_that_names_nobody_is_nobody(behind: Behind, folder: Path) -> None:
    with behind.client(behind.proxy, folder) as silent:
        assert silent.get(WIDGETS).status_code == 401


def ends_in_the_handshake(client: Client) -> bool:
    """Whether TLS refuses what a client shows."""
    try:
        client.get(WIDGETS)
    except (httpx.ReadError, httpx.ConnectError, httpx.RemoteProtocolError):
        return True
    return False


def test_a_certificate_that_nobody_vouches_for_is_refused(behind: Behind, folder: Path) -> None:
    forged: Shown = Authority("proxies").issue("proxy-a")
    with behind.client(forged, folder, x_remote_user="jane") as forger:
        assert ends_in_the_handshake(forger)


def test_a_front_proxy_s_certificate_whose_time_is_over_is_refused(
    behind: Behind, proxies: Authority, folder: Path
) -> None:
    with behind.client(proxies.issue("proxy-a", until=-DAY / 2), folder, x_remote_user="jane") as late:
        assert ends_in_the_handshake(late)


def test_groups_are_told_one_by_one(host: ServerProcess, behind: Behind, folder: Path) -> None:
    grant(host, "readers, writers", "list", kind="Group")
    with behind.client(behind.proxy, folder) as proxy:
        reply = proxy.http.get(
            WIDGETS,
            headers=[
                ("X-Remote-User", "ann"),
                ("X-Remote-Group", "others"),
                ("X-Remote-Group", "readers, writers"),
            ],
        )
    ok(reply)


def test_a_group_with_a_comma_in_its_name_is_one_group(behind: Behind, folder: Path) -> None:
    with behind.proxied(folder, x_remote_user="ann", x_remote_group="a, system:masters") as ann:
        assert 'User "ann" cannot list' in refused_text(ann.get(WIDGETS))


def test_who_is_anonymous_at_the_host_is_so_here(behind: Behind, folder: Path) -> None:
    with behind.proxied(
        folder, x_remote_user="system:anonymous", x_remote_group="system:unauthenticated"
    ) as nobody:
        assert 'User "system:anonymous" cannot list' in refused_text(nobody.get(WIDGETS))


def test_masters_need_not_be_asked_for(behind: Behind, folder: Path) -> None:
    with behind.proxied(
        folder, x_remote_user="system:kube-aggregator", x_remote_group="system:masters"
    ) as aggregator:
        ok(aggregator.get("/apis/example.com/v1"))


def spoken(socket: ssl.SSLSocket, path: str) -> bytes:
    """The first line of an answer over an open connection."""
    request = f"GET {path} HTTP/1.1\r\nHost: kinepy\r\nX-Remote-User: jane\r\n\r\n"
    socket.sendall(request.encode())
    return socket.recv(65536).partition(b"\r\n")[0]


def test_a_resumed_session_is_the_front_proxy_s_too(behind: Behind, folder: Path) -> None:
    tls = behind.proxy.tls(behind.server.data / "pki" / "ca.crt", folder)
    address, session, answers = ("127.0.0.1", behind.server.port), None, []
    for _ in range(2):
        with (
            create_connection(address) as raw,
            tls.wrap_socket(raw, server_hostname="localhost", session=session) as socket,
        ):
            answers.append(spoken(socket, WIDGETS))
            resumed, session = socket.session_reused, socket.session
    assert (answers, resumed) == ([b"HTTP/1.1 200 OK"] * 2, True)


def test_a_watch_over_websocket_is_the_front_proxy_s_too(behind: Behind, folder: Path) -> None:
    url = f"wss{behind.server.url.removeprefix('https')}{WIDGETS}?watch=true"
    tls = behind.proxy.tls(behind.server.data / "pki" / "ca.crt", folder)
    with connect(url, ssl=tls, additional_headers={"X-Remote-User": "jane"}):
        pass
    with pytest.raises(InvalidStatus) as caught:
        connect(url, ssl=tls, additional_headers={"X-Remote-User": "bob"})
    assert b'User \\"bob\\" cannot watch' in (caught.value.response.body or b"")
