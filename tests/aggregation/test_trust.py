"""Backends learn whom to trust from a ConfigMap, which every server keeps and no server empties."""

import asyncio
import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from kinepy import KeyRange
from kinepy_server.aggregation.state import ProxyIdentity
from kinepy_server.aggregation.trust import combined
from kinepy_server.auth.front_proxy import (
    CLIENT_LIFE,
    FrontProxy,
    ensure_front_proxy,
    new_front_proxy,
    renewed_front_proxy,
)
from kinepy_server.auth.pki import BadPki
from kinepy_server.context import Context
from tests.aggregation.aggregating import API_SERVICES_PATH, PATIENCE_S, SERVICES, found_again
from tests.aggregation.backend import api_service, service
from tests.http.writing import MERGE, Api, Reply, api_over
from tests.processes import ServerProcess

CONFIGMAP = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
KEY = b"/registry/configmaps/kube-system/extension-apiserver-authentication"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
LISTS = {
    "requestheader-allowed-names": ["front-proxy-client"],
    "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
    "requestheader-group-headers": ["X-Remote-Group"],
    "requestheader-uid-headers": ["X-Remote-Uid"],
    "requestheader-username-headers": ["X-Remote-User"],
}


async def kept(context: Context, api: Api, proxy_ca: str) -> Reply:
    """The ConfigMap, as soon as it holds an authority of front proxies."""
    async with asyncio.timeout(PATIENCE_S), context.store.watch(KeyRange.single(KEY)) as watch:
        while True:
            reply = await api.get(CONFIGMAP)
            if reply.code == 200 and proxy_ca in reply.body["data"].get("requestheader-client-ca-file", ""):
                return reply
            await watch.next()


async def test_it_is_made_and_put_right(context: Context) -> None:
    identity = context.aggregation.identity
    identity.publish, identity.client_ca = True, new_front_proxy().ca
    proxy_ca = (await identity.front_proxy()).ca
    async with api_over(context) as api:
        data = (await kept(context, api, proxy_ca)).body["data"]
        assert data.pop("client-ca-file") == identity.client_ca
        assert data.pop("requestheader-client-ca-file") == proxy_ca
        assert {name: json.loads(text) for name, text in data.items()} == LISTS
        await api.patch(CONFIGMAP, {"data": {"requestheader-client-ca-file": None}}, content_type=MERGE)
        await kept(context, api, proxy_ca)
        await api.delete(CONFIGMAP)
        await kept(context, api, proxy_ca)


async def test_whoever_asks_at_once_finds_the_same_front_proxy(memory: Context) -> None:
    identity = memory.aggregation.identity
    first, second = await asyncio.gather(identity.front_proxy(), identity.front_proxy())
    assert first is second


async def test_servers_with_other_authorities_are_all_told(context: Context) -> None:
    other = new_front_proxy().ca
    context.aggregation.identity.publish = True
    async with api_over(context) as api:
        mine = (await context.aggregation.identity.front_proxy()).ca
        await kept(context, api, mine)
        await api.patch(CONFIGMAP, {"data": {"requestheader-client-ca-file": other}}, content_type=MERGE)
        told = (await kept(context, api, mine)).body["data"]["requestheader-client-ca-file"]
        assert told == other + mine


async def test_where_everybody_is_admin_it_is_told_with_the_first_backend(
    memory_api: Api, memory: Context
) -> None:
    assert (await memory_api.get(CONFIGMAP)).code == 404
    await memory_api.post(SERVICES, service())
    await memory_api.post(API_SERVICES_PATH, api_service(443))
    data = (await kept(memory, memory_api, "BEGIN CERTIFICATE")).body["data"]
    assert "client-ca-file" not in data


def test_nothing_is_taken_away() -> None:
    known = {"other": "1", "requestheader-allowed-names": '["a"]', "requestheader-group-headers": "nonsense"}
    made = combined(known, client_ca="", proxy_ca="C\n-----END CERTIFICATE-----\n")
    assert made["other"] == "1"
    assert json.loads(made["requestheader-allowed-names"]) == ["a", "front-proxy-client"]
    assert json.loads(made["requestheader-group-headers"]) == ["X-Remote-Group"]
    assert combined(made, client_ca="", proxy_ca="C\n-----END CERTIFICATE-----\n") == made


def test_servers_on_one_folder_share_the_front_proxy(tmp_path: Path) -> None:
    first = ensure_front_proxy(tmp_path, now=NOW)
    assert ensure_front_proxy(tmp_path, now=NOW) == first
    assert (tmp_path / "front-proxy-client.key").stat().st_mode & 0o777 == 0o600
    client = x509.load_pem_x509_certificate((tmp_path / "front-proxy-client.crt").read_bytes())
    assert client.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "front-proxy-client"


def test_the_certificate_is_renewed_before_it_ends(tmp_path: Path) -> None:
    first = ensure_front_proxy(tmp_path, now=NOW)
    later = ensure_front_proxy(tmp_path, now=NOW + CLIENT_LIFE - timedelta(days=20))
    assert later.ca == first.ca
    assert later.chain != first.chain


def test_another_authority_is_never_made_while_the_server_runs(tmp_path: Path) -> None:
    ensure_front_proxy(tmp_path, now=NOW)
    for suffix in ("crt", "key"):
        (tmp_path / f"front-proxy-ca.{suffix}").unlink()
    with pytest.raises(FileNotFoundError, match=r"front-proxy-ca\.crt"):
        renewed_front_proxy(tmp_path, now=NOW)


def test_a_lost_key_of_the_authority_is_told_when_it_is_needed(tmp_path: Path) -> None:
    ensure_front_proxy(tmp_path, now=NOW)
    (tmp_path / "front-proxy-ca.key").unlink()
    ensure_front_proxy(tmp_path, now=NOW)
    with pytest.raises(BadPki, match=r"front-proxy-ca\.key"):
        ensure_front_proxy(tmp_path, now=NOW + CLIENT_LIFE)


def test_a_server_tells_it_from_its_start(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server, server.client() as client:
        query = {"fieldSelector": "metadata.name=extension-apiserver-authentication", "watch": "true"}
        path = "/api/v1/namespaces/kube-system/configmaps"
        with client.http.stream("GET", path, params=query) as answer:
            told = json.loads(next(answer.iter_lines()))["object"]["data"]
        assert told["client-ca-file"] == (tmp_path / "data/pki/ca.crt").read_text()
        proxy_ca = (tmp_path / "data/pki/front-proxy-ca.crt").read_text()
        assert told["requestheader-client-ca-file"] == proxy_ca


async def test_a_front_proxy_that_is_renewed_is_found_while_the_server_runs(tmp_path: Path) -> None:
    day = 0
    identity = ProxyIdentity(
        lambda: ensure_front_proxy(tmp_path, now=NOW + timedelta(days=day)), look_every_s=0
    )
    first = await identity.front_proxy()
    assert await found_again(identity) is first
    day = CLIENT_LIFE.days
    assert (await found_again(identity)).chain != first.chain


@pytest.mark.parametrize("error", [OSError("no such disk"), TypeError("no such type")])
async def test_a_front_proxy_that_cannot_be_renewed_goes_on(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    answers = iter((new_front_proxy(),))

    def find() -> FrontProxy:
        for one in answers:
            return one
        raise error

    identity = ProxyIdentity(find, look_every_s=0)
    assert await identity.front_proxy() is await found_again(identity)
    assert str(error) in caplog.text


async def test_nobody_waits_while_the_front_proxy_is_found_again() -> None:
    proxy, hold = new_front_proxy(), threading.Event()
    hold.set()

    def find() -> FrontProxy:
        hold.wait()
        return proxy

    identity = ProxyIdentity(find, look_every_s=0)
    await identity.front_proxy()
    hold.clear()
    try:
        assert [await identity.front_proxy() for _ in range(3)] == [proxy] * 3
    finally:
        hold.set()


async def test_authorities_that_become_others_are_told_too(context: Context) -> None:
    identity = context.aggregation.identity
    identity.publish, identity.look_every_s, identity.client_ca = True, 0.0, new_front_proxy().ca
    async with api_over(context) as api:
        await kept(context, api, (await identity.front_proxy()).ca)
        other, client_ca = new_front_proxy(), new_front_proxy().ca
        identity.find, identity.client_ca = (lambda: other), client_ca
        await api.delete(CONFIGMAP)
        assert await found_again(identity) is other
        await api.delete(CONFIGMAP)
        data = (await kept(context, api, other.ca)).body["data"]
        assert client_ca in data["client-ca-file"]


async def test_a_front_proxy_that_was_never_found_is_an_error() -> None:
    def find() -> FrontProxy:
        raise OSError("no such disk")

    with pytest.raises(OSError, match="no such disk"):
        await ProxyIdentity(find).front_proxy()
