"""Certificates are replaced and renewed while a server runs."""

import asyncio
import logging
import socket
import ssl
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import uvloop

from kinepy.clock import SystemClock
from kinepy_server.auth.certificates import CertificateUsers
from kinepy_server.auth.client_certificates import ClientCertificate, issue_client_certificate
from kinepy_server.auth.pki import SERVER_LIFE, ensure_pki
from kinepy_server.auth.tls import ServedTls, Tls, odd_names_untold
from kinepy_server.lasting import in_own_thread
from kinepy_server.peer_certificate import peer_certificate

NOW = datetime.now(UTC)


def served_by(tls: Tls, clock: SystemClock | None = None) -> ServedTls:
    """Serving with files that nothing else has a say in."""
    return ServedTls(tls, attach=lambda *_: None, clock=clock or SystemClock())


@asynccontextmanager
async def listening(served: ServedTls) -> AsyncIterator[int]:
    """A server that reads one byte, answers it, and closes; the port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(1))
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=served.context) as server:
        yield server.sockets[0].getsockname()[1]


def client_context(client: Path | None) -> ssl.SSLContext:
    """A client that takes any server, and shows a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if client is not None:
        context.load_cert_chain(client)
    return context


async def shown(port: int, *, name: str | None = None, client: Path | None = None) -> bytes:
    """The certificate that a new client is shown; one that shows `client` is let in, or this raises ssl.SSLError."""
    context = client_context(client)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    found: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    assert found is not None
    writer.write(b"?")
    try:
        # TLS 1.3 tells a refused client with the first answer.
        if await reader.read(1) != b"?":
            raise ssl.SSLError("closed")
    finally:
        writer.close()
    return found


def replaced(folder: Path, *, by: Path) -> None:
    """Another authority's certificate in the place of the one that is served."""
    (folder / "server.pem").write_bytes((by / "server.pem").read_bytes())


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_certificate_that_is_replaced_is_shown_from_then_on(
    tmp_path: Path, run: Callable[..., object]
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    files, _ = ensure_pki(mine, ["localhost"], now=NOW), ensure_pki(other, ["localhost"], now=NOW)

    async def scene() -> None:
        served = served_by(Tls(files.chain))
        async with listening(served) as port:
            before = await shown(port)
            replaced(mine, by=other)
            assert await shown(port) == before
            await served.look()
            after = await shown(port)
            assert after != before
            assert await shown(port, name="localhost") == after

    run(scene())


async def test_what_cannot_be_served_with_is_told_and_the_former_one_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    files, _ = ensure_pki(mine, [], now=NOW), ensure_pki(other, [], now=NOW)
    served = served_by(Tls(files.chain))
    async with listening(served) as port:
        before = await shown(port)
        for broken in ("", "-----BEGIN CERTIFICATE-----\n"):
            caplog.clear()
            files.chain.write_text(broken)
            await served.look()
            assert "put right" in caplog.text
            assert await shown(port) == before
        replaced(mine, by=other)
        await served.look()
        assert await shown(port) != before


async def test_a_certificate_is_renewed_before_its_end_while_the_server_runs(tmp_path: Path) -> None:
    day = 0

    def renew() -> object:
        return ensure_pki(tmp_path, [], now=NOW + timedelta(days=day))

    files = ensure_pki(tmp_path, [], now=NOW)
    served = served_by(Tls(files.chain, renew=renew))
    async with listening(served) as port:
        first = await shown(port)
        await served.look()
        assert await shown(port) == first
        day = SERVER_LIFE.days - 20
        await served.look()
        assert await shown(port) != first


async def test_a_renewal_that_fails_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = ensure_pki(tmp_path, [], now=NOW)
    late = NOW + SERVER_LIFE
    served = served_by(Tls(files.chain, renew=lambda: ensure_pki(tmp_path, [], now=late)))
    (tmp_path / "ca.key").unlink()
    async with listening(served) as port:
        await served.look()
        assert "put the key back" in caplog.text
        assert await shown(port)


async def test_clients_of_an_authority_that_is_replaced_are_refused(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    files, others = ensure_pki(mine, [], now=NOW), ensure_pki(other, [], now=NOW)
    old = written(tmp_path / "old.pem", issue_client_certificate(mine, "jane", [], now=NOW))
    new = written(tmp_path / "new.pem", issue_client_certificate(other, "jane", [], now=NOW))
    authority = tmp_path / "clients.crt"
    authority.write_bytes(files.ca.read_bytes())
    served = served_by(Tls(files.chain, client_ca=authority))
    async with listening(served) as port:
        await shown(port, client=old)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await shown(port, client=new)
        authority.write_bytes(others.ca.read_bytes())
        await served.look()
        await shown(port, client=new)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await shown(port, client=old)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_who_was_let_in_before_is_known_no_more(tmp_path: Path, version: ssl.TLSVersion) -> None:
    """Neither on a connection that stayed open nor by a session that was kept."""
    mine, other = tmp_path / "mine", tmp_path / "other"
    files, others = ensure_pki(mine, [], now=NOW), ensure_pki(other, [], now=NOW)
    old = written(tmp_path / "old.pem", issue_client_certificate(mine, "jane", [], now=NOW))
    authority = tmp_path / "clients.crt"
    authority.write_bytes(files.ca.read_bytes())
    users = CertificateUsers(SystemClock())
    served = ServedTls(Tls(files.chain, client_ca=authority), attach=users.attach, clock=SystemClock())
    context = client_context(old)
    context.maximum_version = version

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1):
            certificate = peer_certificate(writer.transport)
            assert certificate is not None
            writer.write(b"%d" % users.user(certificate)[0])
        writer.close()

    def scene(port: int, replace: Callable[[], None]) -> list[bytes]:
        with socket.create_connection(("127.0.0.1", port)) as raw, context.wrap_socket(raw) as kept:
            answers = [asked(kept)]
            replace()
            with (
                socket.create_connection(("127.0.0.1", port)) as another,
                context.wrap_socket(another, session=kept.session) as resumed,
            ):
                assert resumed.session_reused
                return [*answers, asked(kept), asked(resumed)]

    def asked(connection: ssl.SSLSocket) -> bytes:
        connection.send(b"?")
        return connection.recv(1)

    def replace() -> None:
        authority.write_bytes(others.ca.read_bytes())
        asyncio.run_coroutine_threadsafe(served.look(), loop).result()

    loop = asyncio.get_running_loop()
    async with await asyncio.start_server(ask, "127.0.0.1", 0, ssl=served.context) as server:
        port = server.sockets[0].getsockname()[1]
        assert await asyncio.to_thread(scene, port, replace) == [b"1", b"0", b"0"]


async def test_what_is_replaced_is_taken_also_when_nothing_can_be_renewed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    files, _ = ensure_pki(mine, [], now=NOW), ensure_pki(other, [], now=NOW)

    def renew() -> None:
        raise TypeError("no such key")

    served = served_by(Tls(files.chain, renew=renew))
    async with listening(served) as port:
        before = await shown(port)
        replaced(mine, by=other)
        await served.look()
        assert "no such key" in caplog.text
        assert await shown(port) != before


async def test_authorities_that_cannot_be_read_leave_the_former_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = ensure_pki(tmp_path / "mine", [], now=NOW)
    authority = tmp_path / "clients.crt"
    authority.write_bytes(files.ca.read_bytes())
    users = CertificateUsers(SystemClock())
    served = ServedTls(Tls(files.chain, client_ca=authority), attach=users.attach, clock=SystemClock())
    first = served.context
    authority.write_text(authority.read_text() + of_version_4(files.ca.read_text()))
    for _ in range(2):
        caplog.clear()
        await served.look()
        assert "put right: a bundle of certificates is no PEM" in caplog.text
        assert served._current is first


def of_version_4(pem: str) -> str:
    """A certificate that OpenSSL takes all the same."""
    three, four = b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x03"
    return ssl.DER_cert_to_PEM_cert(ssl.PEM_cert_to_DER_cert(pem).replace(three, four))


def test_a_name_of_odd_bytes_prints_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = list[object]()
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    served = served_by(Tls(ensure_pki(tmp_path, [], now=NOW).chain))

    def greeted(name: bytes) -> None:
        sent, taken = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = client_context(None).wrap_bio(ssl.MemoryBIO(), sent, server_hostname="odd.example")
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        taken.write(sent.read().replace(b"odd.example", name))
        with pytest.raises(ssl.SSLError):
            served.context.wrap_bio(taken, ssl.MemoryBIO(), server_side=True).do_handshake()

    with odd_names_untold():
        greeted(b"\xffdd.example")
    assert not told
    greeted(b"\xffdd.example")
    assert told, "Python tells it where nobody prevents it"


def test_what_holds_up_a_thread_does_not_hold_up_the_end() -> None:
    held = threading.Event()
    last = threading.Timer(20, held.set)
    last.start()

    async def begin() -> None:
        waiting = asyncio.create_task(in_own_thread(held.wait))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(begin())
    assert not held.is_set()
    last.cancel()
    held.set()


def written(path: Path, certificate: ClientCertificate) -> Path:
    """A client's key and certificate in one file."""
    path.write_text(certificate.key + certificate.certificate)
    return path


class Minutes(SystemClock):
    """A clock whose sleepers wait for the test."""

    def __init__(self) -> None:
        self.passed = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        await self.passed.acquire()


async def test_the_files_are_looked_at_again_and_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    looked = asyncio.Queue[None]()
    loop, clock = asyncio.get_running_loop(), Minutes()
    files = ensure_pki(tmp_path, [], now=NOW)

    def renew() -> None:
        loop.call_soon_threadsafe(looked.put_nowait, None)
        raise OSError("no such disk")

    served = served_by(Tls(files.chain, renew=renew), clock)
    caplog.set_level(logging.WARNING)
    following = asyncio.create_task(served.follow())
    for _ in range(3):
        clock.passed.release()
        await looked.get()
    following.cancel()
    assert caplog.text.count("no such disk") >= 2
