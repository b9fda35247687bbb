"""What goes wrong is told in one line that says what to do; the exit code is not 0 and nothing is damaged."""

import socket
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kinepy.errors import DatabaseReadOnly
from kinepy_server.auth.pki import ensure_pki
from kinepy_server.cli.problems import explanation
from tests.processes import free_port, run_kinepy


def problem(*arguments: str, code: int = 1) -> str:
    """The one line of a command that must fail."""
    done = run_kinepy(*arguments)
    assert done.returncode == code, (done.stdout, done.stderr)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("kinepy: ")
    assert done.stdout == ""
    return lines[0].removeprefix("kinepy: ")


def serve(data: Path, *options: str) -> str:
    """The line of `kinepy serve`, which must fail."""
    return problem("serve", "--data", str(data), "--listen", f"127.0.0.1:{free_port()}", *options)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock.getsockname()[1]


def test_a_port_in_use(tmp_path: Path, taken_port: int) -> None:
    for more in ((), ("--workers", "2")):
        text = problem(
            "serve", "--data", str(tmp_path / "data"), "--listen", f"127.0.0.1:{taken_port}", *more
        )
        assert text == (
            f"port {taken_port} of 127.0.0.1 is in use: stop what listens there, or choose another with --listen"
        )
    assert not (tmp_path / "data").exists()


def test_a_foreign_address(tmp_path: Path) -> None:
    assert "192.0.2.1 is no address of this machine" in problem(
        "serve", "--data", str(tmp_path), "--listen", "192.0.2.1:6443"
    )


@pytest.mark.parametrize("address", ["6443", "localhost", "127.0.0.1:x", "127.0.0.1:70000"])
def test_a_bad_address(tmp_path: Path, address: str) -> None:
    text = problem("serve", "--data", str(tmp_path), "--listen", address)
    assert text.startswith(f"{address!r} is no address: write HOST:PORT")


def test_insecure_is_refused_where_others_can_reach_it(tmp_path: Path) -> None:
    text = problem("serve", "--data", str(tmp_path), "--insecure", "--listen", "0.0.0.0:0")
    assert "--insecure makes everybody admin" in text
    assert "--insecure-anywhere" in text


def test_where_insecure_is_allowed_means_nothing_without_it(tmp_path: Path) -> None:
    assert "add --insecure, or leave it away" in serve(tmp_path, "--insecure-anywhere")


@pytest.mark.parametrize("command", ["serve", "status", "compact"])
def test_a_data_folder_without_a_name_is_not_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--data is empty: name a folder" in problem(command, "--data", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["restore", "import"])
def test_a_file_that_cannot_be_read_in_leaves_no_empty_folder(tmp_path: Path, command: str) -> None:
    junk = tmp_path / "junk"
    junk.write_text("holiday photographs")
    problem(command, "--data", str(tmp_path / "data"), str(junk))
    assert list(tmp_path.iterdir()) == [junk]


def test_workers_need_a_database_they_can_share(tmp_path: Path) -> None:
    assert "--workers needs a database" in serve(
        tmp_path, "--workers", "2", "--database", "sqlite:///:memory:"
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--controllers", "frob"), "there is no controller 'frob'"),
        (("--tls-san", "bad name!"), "'bad name!' is neither a host name nor an address"),
        (("--set", "frob=1"), "there is no setting 'frob'"),
        (("--set", "poll_interval_s=soon"), "setting poll_interval_s is to be of type float, not 'soon'"),
        (("--set", "batch_writes_max=0"), "setting batch_writes_max is 0: it must be more than 0"),
        (("--set", "request_timeout_s=nan"), "setting request_timeout_s is nan: it must be more than 0"),
        (("--set", "postgres_standbys=maybe"), "it must be asynchronous or synchronous"),
        (("--set", "cache_bytes_max=-1"), "setting cache_bytes_max is -1: it must be 0 or more"),
        (("--advertise-url", "kinepy:6443"), "'kinepy:6443' is no URL for clients: write https://HOST:PORT"),
        (("--advertise-url", "https://x:y"), "'https://x:y' is no URL for clients"),
        (("--tls-cert", "x.pem"), "--tls-cert and --tls-key belong together"),
        (("--token-file", "/none.csv"), "cannot read the token file /none.csv"),
        (("--database", "mysql://x/y"), "database URL has the unknown scheme 'mysql'"),
        (("--database", "postgresql://127.0.0.1:1/x"), "127.0.0.1:1"),
    ],
)
def test_bad_options(tmp_path: Path, options: tuple[str, ...], text: str) -> None:
    assert text in serve(tmp_path, *options)


def test_a_certificate_that_is_none(tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("holiday photographs")
    text = serve(tmp_path / "data", "--tls-cert", str(junk), "--tls-key", str(junk))
    assert text.startswith(f"{junk} and {junk} are no certificate and its key")
    junk.write_bytes(b"\xff\xfe")
    assert serve(tmp_path / "data", "--tls-cert", str(junk), "--tls-key", str(junk)) == text


def test_a_certificate_with_the_key_of_another(tmp_path: Path) -> None:
    for name in ("one", "two"):
        ensure_pki(tmp_path / name, ["localhost"], now=datetime.now(UTC))
    one, two = (str(tmp_path / name / "server.pem") for name in ("one", "two"))
    assert "KEY_VALUES_MISMATCH" in serve(tmp_path / "data", "--tls-cert", one, "--tls-key", two)


def test_a_certificate_that_is_not_there(tmp_path: Path) -> None:
    text = serve(tmp_path, "--tls-cert", "/none.pem", "--tls-key", "/none.pem")
    assert (
        text == "cannot read or write /none.pem (No such file or directory): correct its path or its rights"
    )


def test_a_wrong_password_is_told_without_it(tmp_path: Path, postgres_url: str) -> None:
    address = urlsplit(postgres_url)
    wrong = address._replace(netloc=f"{address.username}:mistaken@{address.hostname}:{address.port}").geturl()
    text = serve(tmp_path, "--database", wrong)
    assert "password" in text
    assert "mistaken" not in text


def test_a_missing_database_is_named(tmp_path: Path, postgres_url: str) -> None:
    missing = urlsplit(postgres_url)._replace(path="/nowhere").geturl()
    assert "nowhere" in serve(tmp_path, "--database", missing)


def test_a_file_that_is_no_database_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kinepy.db"
    path.write_bytes(b"holiday photographs" * 500)
    assert str(path) in serve(tmp_path)
    assert path.read_bytes() == b"holiday photographs" * 500


def test_another_programs_database_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kinepy.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE photographs (id INTEGER)")
    connection.close()
    before = path.read_bytes()
    assert str(path) in serve(tmp_path)
    assert path.read_bytes() == before


def test_a_damaged_database_is_told(tmp_path: Path) -> None:
    assert run_kinepy("migrate", "--data", str(tmp_path)).returncode == 0
    path = tmp_path / "kinepy.db"
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)
    assert str(path) in serve(tmp_path)


def test_a_newer_schema_is_left_alone(tmp_path: Path) -> None:
    assert run_kinepy("migrate", "--data", str(tmp_path)).returncode == 0
    with sqlite3.connect(tmp_path / "kinepy.db") as connection:
        connection.execute("UPDATE kinepy_version SET version_num = '9999'")
    connection.close()
    assert "newer" in serve(tmp_path)


def test_a_data_folder_where_nothing_can_be_made() -> None:
    assert "cannot write in the data folder /proc/kinepy" in serve(Path("/proc/kinepy"))


def test_a_read_only_database_is_one_line() -> None:
    assert explanation(DatabaseReadOnly("x.db cannot be written: correct its rights")) == (
        "x.db cannot be written: correct its rights"
    )


def test_a_data_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert "cannot write in the data folder" in serve(tmp_path / "data")


def test_etcd_is_not_in_this_release() -> None:
    assert "the etcd API is not in this release" in problem("etcd", code=2)


def test_no_revision_is_negative(tmp_path: Path) -> None:
    done = run_kinepy("compact", "--data", str(tmp_path), "--to", "-1")
    assert done.returncode == 2
    assert "greater than or equal to 1" in done.stderr


def test_kubeconfig_before_the_first_start(tmp_path: Path) -> None:
    assert "start `kinepy serve` with the same --data first" in problem("kubeconfig", "--data", str(tmp_path))


@pytest.mark.parametrize("options", [("--user", ""), ("--group", "dev"), ("--user", "", "--group", "dev")])
def test_who_names_no_user_does_not_get_the_kubeconfig_of_the_admin(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "kubeconfig").write_text("the admin's")
    assert "no user is named: give --user NAME" in problem("kubeconfig", "--data", str(tmp_path), *options)


@pytest.mark.parametrize("option", ["--client-ca", "--token-file"])
def test_a_file_of_users_that_is_not_there_is_named(tmp_path: Path, option: str) -> None:
    assert str(tmp_path / "none") in serve(tmp_path / "data", option, str(tmp_path / "none"))


@pytest.mark.parametrize("command", ["status", "compact", "check", "new-epoch"])
def test_commands_make_no_database(tmp_path: Path, command: str) -> None:
    assert "there is no database" in problem(command, "--data", str(tmp_path))
    assert not list(tmp_path.iterdir())
