"""The surface: what is told of secrets, who may read files, what TLS is spoken, how SQL is put together."""

import ast
import socket
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinepy.drivers.url import parse_url
from kinepy.errors import BadDatabaseUrl
from tests.processes import ServerProcess, free_port, run_kinepy

ROOT = Path(__file__).resolve().parent.parent.parent
SECRET = "hunter2secret"
COMMANDS = (
    ("status",),
    ("check",),
    ("migrate",),
    ("compact",),
    ("new-epoch",),
    ("serve", "--listen", "127.0.0.1:0"),
    ("backup", "backup.gz"),
    ("export", "export.gz"),
)
BAD_URLS = (
    f"postgresql://u:{SECRET}/x@h/n",
    f"postgresql://u:12/{SECRET}@h/n",
    f"postgresql://u:{SECRET}?x@h/n",
    f"postgresql://u:12?{SECRET}@h/n",
    f"postgresql://u:12#{SECRET}@h/n",
    f"postgresql://u:{SECRET}[@h/n",
    f"postgresql://u:{SECRET}\u2100@h/n",
    f"postgresql://u:{SECRET}@h:port/n",
    f"postgresql://u:{SECRET}@h/",
    f"mysql://u:{SECRET}@h/n",
)


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_url_that_is_refused_is_not_quoted_with_its_password(url: str) -> None:
    with pytest.raises(BadDatabaseUrl) as error:
        parse_url(url)
    assert SECRET not in str(error.value)
    assert SECRET not in repr(error.value.__context__ if not error.value.__suppress_context__ else "")


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}@h/n",
        f"postgresql://u:{SECRET}@h1:1,h2:2/n?sslmode=require",
        f"postgresql://h/n?user=u&password={SECRET}",
        f"postgresql://h/n?sslpassword={SECRET}&user=u",
        f"postgresql://u:a%40{SECRET}@h/n",
    ],
)
def test_what_is_shown_of_a_url_has_no_password(url: str) -> None:
    database = parse_url(url)
    assert SECRET not in database.shown
    assert SECRET not in repr(database)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_command_tells_a_password(command: tuple[str, ...], tmp_path: Path) -> None:
    url = f"postgresql://u:{SECRET}@127.0.0.1:{free_port()}/n"
    name, *rest = command
    arguments = [str(tmp_path / one) if one.endswith(".gz") else one for one in rest]
    done = run_kinepy(name, *arguments, "--data", str(tmp_path / "data"), "--database", url)
    assert done.returncode == 1
    assert done.stderr.startswith("kinepy: ") and done.stderr.count("\n") == 1
    assert SECRET not in done.stdout + done.stderr


def test_a_refused_password_is_not_told(create_postgres: object, postgres_url: str, tmp_path: Path) -> None:
    user, _, host = postgres_url.removeprefix("postgresql://").partition("@")
    url = f"postgresql://{user.split(':')[0]}:{SECRET}@{host}"
    done = run_kinepy("status", "--database", url)
    assert "refuses the user" in done.stderr
    assert SECRET not in done.stdout + done.stderr


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("security") / "data") as running:
        with running.client() as client:
            client.create("one")
        yield running


def test_files_are_for_their_owner_alone(server: ServerProcess) -> None:
    public = {"ca.crt", "front-proxy-ca.crt", "front-proxy-client.crt"}
    for path in (server.data, *server.data.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        expected = 0o700 if path.is_dir() else 0o644 if path.name in public else 0o600
        assert mode & ~expected == 0, (path, oct(mode))


def test_the_server_tells_no_token(server: ServerProcess) -> None:
    assert server.token is not None
    with server.client() as client:
        client.http.get("/api", headers={"Authorization": f"Bearer {server.token}x"})
        client.http.get(f"/api?token={server.token}")
        metrics = client.http.get("/metrics").text
    assert server.token not in "\n".join(server.output) + metrics


def handshake(server: ServerProcess, context: ssl.SSLContext) -> tuple[str | None, str]:
    context.load_verify_locations(server.data / "pki" / "ca.crt")
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as connection,
    ):
        cipher = connection.cipher()
        assert cipher is not None
        return connection.version(), cipher[0]


def client_context(*, ciphers: str = "ALL:@SECLEVEL=0") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers(ciphers)
    return context


def test_the_newest_tls_is_spoken(server: ServerProcess) -> None:
    assert handshake(server, client_context())[0] == "TLSv1.3"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_old_tls_is_refused(server: ServerProcess, version: ssl.TLSVersion) -> None:
    context = client_context()
    context.minimum_version = context.maximum_version = version
    with pytest.raises((ssl.SSLError, ConnectionError)):
        handshake(server, context)


def test_tls_1_2_has_forward_secrecy_and_authenticated_encryption(server: ServerProcess) -> None:
    context = client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    version, cipher = handshake(server, context)
    assert version == "TLSv1.2"
    assert cipher.startswith("ECDHE-")
    assert "GCM" in cipher or "CHACHA20" in cipher


@pytest.mark.parametrize(
    "ciphers", ["AES128-SHA", "AES256-GCM-SHA384", "ECDHE+SHA1", "ECDHE+AES+SHA256:!AESGCM"]
)
def test_weak_ciphers_are_refused(server: ServerProcess, ciphers: str) -> None:
    context = client_context(ciphers=f"{ciphers}:@SECLEVEL=0")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        handshake(server, context)


# --- SQL

RUNS_SQL = frozenset({"execute", "executemany", "executescript", "fetch", "fetchrow", "fetchval", "text"})
VERBS = (
    "select ",
    "insert ",
    "update ",
    "delete ",
    "create ",
    "alter ",
    "drop ",
    "begin",
    "set ",
    "pragma ",
    "with ",
)
CONSTANTS = {
    # Statements that take no parameters: what is put in is a constant, a number, or quoted by `quote_*`.
    "kinepy/drivers/postgres/connection.py": {"name", "value", "quote_text(value)"},
    "kinepy/drivers/postgres/driver.py": {
        "lock", "idle_ms", "PRECEDENCE_WAIT_MS", "quote_text(self._names.channel)", "quote_text(payload)",
    },
    "kinepy/drivers/postgres/schema.py": {
        "VERSION_TABLE", "Names.of_schema(schema).migration_lock", "quote_name(settings.postgres_schema)",
    },
    "kinepy/drivers/postgres/listen.py": {"channel", "self._channel", "quote_name(self._channel)"},
    "kinepy/drivers/postgres/write.py": {"names.order_lock"},
    "kinepy/drivers/postgres/read.py": {"_SIZE"},
    "kinepy/drivers/sqlite/connection.py": {
        "settings.sqlite_synchronous", "_CACHE_KIB[role]", "WAL_PAGES_MAX", "_WAL_BYTES_KEPT",
    },
    "kinepy/drivers/sqlite/maintenance.py": {"name", "min(spare, _PAGES_A_STEP)"},
    "kinepy/drivers/sqlite/schema.py": {"SQLITE_APPLICATION_ID", "VERSION_TABLE"},
}  # fmt: skip


def put_into_sql(tree: ast.AST) -> Iterator[str]:
    """Every expression that is put into the text of a statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and is_statement(node):
            yield from (
                ast.unparse(part.value) for part in node.values if isinstance(part, ast.FormattedValue)
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RUNS_SQL:
            # `"..." + name` and `"..." % name` are found here, whatever they begin with.
            yield from (ast.unparse(argument) for argument in node.args[:1] if is_joined(argument))


def is_statement(node: ast.JoinedStr) -> bool:
    first = node.values[0]
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return text.lower().startswith(VERBS) and text[:2].isupper()


def is_joined(argument: ast.expr) -> bool:
    formats = isinstance(argument, ast.Call) and isinstance(argument.func, ast.Attribute)
    return isinstance(argument, ast.BinOp) or (
        formats and isinstance(argument, ast.Call) and getattr(argument.func, "attr", "") == "format"
    )


def sources() -> list[Path]:
    return [path for folder in ("kinepy", "server") for path in sorted((ROOT / folder).rglob("*.py"))]


def test_sql_has_bound_parameters_only() -> None:
    found = {
        f"{relative}: {expression}"
        for path in sources()
        if (relative := path.relative_to(ROOT).as_posix())
        for expression in put_into_sql(ast.parse(path.read_text()))
        if expression not in CONSTANTS.get(relative, set())
    }
    assert found == set()


def test_the_look_at_sql_finds_what_it_is_for() -> None:
    for source in (
        'raw.execute(f"SELECT {name}")',
        'raw.execute("SELECT " + name)',
        'raw.fetch("SELECT %s" % name)',
    ):
        assert list(put_into_sql(ast.parse(source)))
    assert not list(put_into_sql(ast.parse('raw.execute("SELECT ?", (name,)); print(f"Set {name}")')))
