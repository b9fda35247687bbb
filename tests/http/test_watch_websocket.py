"""Watches over WebSocket: a frame for each event, and a token that is never echoed."""

import json
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import ConnectionClosedOK, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from kinepy_server.background import BackgroundServer
from kinepy_server.wire.protobuf import decode_message, open_envelope

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
TOKEN = Subprotocol("base64url.bearer.authorization.k8s.io.dG9rZW4")


@pytest.fixture
def server(kinepy_server: BackgroundServer) -> BackgroundServer:
    """A server without objects of other tests."""
    kinepy_server.reset()
    return kinepy_server


def opened(server: BackgroundServer, query: str, **options: Any) -> ClientConnection:
    """A WebSocket to a watch of ConfigMaps."""
    socket: ClientConnection = connect(
        f"ws{server.url.removeprefix('http')}{CONFIGMAPS}?watch=true&{query}", **options
    )
    return socket


def created(server: BackgroundServer, name: str) -> None:
    """Make a ConfigMap."""
    httpx.post(server.url + CONFIGMAPS, json={"metadata": {"name": name}}).raise_for_status()


def test_every_event_is_a_text_frame_of_its_own(server: BackgroundServer) -> None:
    created(server, "a")
    with opened(server, "fieldSelector=metadata.name!=kube-root-ca.crt") as socket:
        first = json.loads(socket.recv(timeout=10))
        created(server, "b")
        second = json.loads(socket.recv(timeout=10))
    assert [(e["type"], e["object"]["metadata"]["name"]) for e in (first, second)] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
    ]


def test_an_event_in_protobuf_is_a_binary_frame_without_its_length(server: BackgroundServer) -> None:
    created(server, "a")
    headers = {"Accept": "application/vnd.kubernetes.protobuf"}
    with opened(server, "fieldSelector=metadata.name%3Da", additional_headers=headers) as socket:
        event = socket.recv(timeout=10)
    assert isinstance(event, bytes)
    fields = decode_message("meta.v1.WatchEvent", event[: 2 + event[1]])
    assert fields["type"] == "ADDED"
    assert open_envelope(event[event.index(b"k8s\0") :]).kind == "ConfigMap"


def test_the_socket_is_closed_at_the_end_of_the_watch(server: BackgroundServer) -> None:
    with (
        opened(server, "resourceVersion=0&labelSelector=none&timeoutSeconds=1") as socket,
        pytest.raises(ConnectionClosedOK),
    ):
        socket.recv(timeout=10)


def test_a_token_beside_a_subprotocol_is_not_echoed(server: BackgroundServer) -> None:
    offered = [TOKEN, Subprotocol("v1.events")]
    with opened(server, "timeoutSeconds=1", subprotocols=offered) as socket:
        assert socket.subprotocol == "v1.events"


def test_a_bad_watch_is_refused_before_the_upgrade(server: BackgroundServer) -> None:
    with pytest.raises(InvalidStatus) as caught, opened(server, "labelSelector=%3D%3D"):
        pass
    assert caught.value.response.status_code == 400
    assert json.loads(caught.value.response.body or b"")["reason"] == "BadRequest"


def test_an_upgrade_of_what_is_no_watch_is_answered_in_http(
    server: BackgroundServer, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InvalidStatus) as caught, connect(f"ws{server.url.removeprefix('http')}/version"):
        pass
    assert caught.value.response.status_code == 200
    httpx.get(f"{server.url}/version").raise_for_status()  # by then the end of the first one was logged
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_client_that_never_answers_the_close_is_cut_off(server: BackgroundServer) -> None:
    address = urlsplit(server.url)
    assert address.hostname
    assert address.port
    with socket.create_connection((address.hostname, address.port), timeout=8) as raw:
        raw.sendall(
            f"GET {CONFIGMAPS}?watch=1&timeoutSeconds=1&labelSelector=none HTTP/1.1\r\nHost: x\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        told = b"".join(iter(lambda: raw.recv(65536), b""))
    assert told.endswith(b"\x88\x02\x03\xe8")  # the server's close, and then the end
