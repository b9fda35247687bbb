"""A kine's database, on SQLite and on PostgreSQL, moves with its revisions."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

from kinepy import KeyRange, Revision, open_store
from kinepy.backup import BadTransfer, import_kine
from kinepy.errors import Compacted, DatabaseNotKinepy, DatabaseUnreachable
from kinepy.upkeep import check_database
from tests.backends import CreatePostgres

COLUMNS = "id, name, created, deleted, create_revision, prev_revision, lease, value, old_value"
SQLITE = (
    "CREATE TABLE kine (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, created INTEGER, deleted INTEGER,"
    " create_revision INTEGER, prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB)"
)
POSTGRES = (
    'CREATE TABLE kine (id BIGSERIAL PRIMARY KEY, name text COLLATE "C", created INTEGER, deleted INTEGER,'
    " create_revision BIGINT, prev_revision BIGINT, lease INTEGER, value bytea, old_value bytea)"
)
INDEXES = (
    "CREATE INDEX kine_name_id_index ON kine (name, id)",
    "CREATE UNIQUE INDEX kine_name_prev_revision_uindex ON kine (name, prev_revision)",
)
Row = tuple[int, str, int, int, int, int, int, bytes | None, bytes | None]
ROWS: Sequence[Row] = (
    (1, "compact_rev_key", 1, 0, 0, 3, 0, b"", None),
    (2, "/registry/health", 1, 0, 0, 0, 0, b'{"health":"true"}', None),
    (4, "/registry/a", 1, 0, 0, 0, 0, b"k8s\x00\xff", None),
    (5, "/registry/b", 1, 0, 0, 0, 0, b"one", None),
    (6, "/registry/b", 0, 0, 5, 5, 0, b"two", b"one"),
    (7, "gap-7", 0, 1, 0, 0, 0, None, None),
    (8, "/registry/c", 1, 0, 0, 0, 0, b"gone", None),
    (9, "/registry/c", 0, 1, 8, 8, 0, b"gone", b"gone"),
    (10, "/registry/d", 1, 0, 0, 0, 0, b"first", None),
    (11, "/registry/d", 0, 1, 10, 10, 0, b"first", b"first"),
    (12, "/registry/d", 1, 0, 0, 11, 0, b"second", b"first"),
    (13, "/registry/events/e", 1, 0, 0, 0, 3600, b"event", None),
    (14, "compact_rev_key_apiserver", 1, 0, 0, 0, 0, b"1|3", None),
    (15, "gap-15", 0, 1, 0, 0, 0, None, None),
)


def kine_file(path: Path, rows: Sequence[Row] = ROWS) -> str:
    with closing(sqlite3.connect(path)) as raw:
        for statement in (SQLITE, *INDEXES):
            raw.execute(statement)
        raw.executemany(f"INSERT INTO kine ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        raw.commit()
    return f"sqlite:///{path}"


async def test_values_that_are_text_are_read_as_bytes(tmp_path: Path) -> None:
    rows: list[Row] = [(1, "/registry/a", 1, 0, 0, 0, 0, "text", None)]  # type: ignore[list-item]  # SQLite does not mind
    url = f"sqlite:///{tmp_path / 'new.db'}"
    await import_kine(url, kine_file(tmp_path / "kine.db", rows))
    async with open_store(url) as store:
        assert (await store.get(b"/registry/a")).value == b"text"  # type: ignore[union-attr]  # it is there


@pytest.fixture(params=["sqlite", "postgres"])
async def kine_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return kine_file(tmp_path / "state.db")
    create: CreatePostgres = request.getfixturevalue("create_postgres")
    url = create(False)
    connection = await asyncpg.connect(url)
    for statement in (POSTGRES, *INDEXES):
        await connection.execute(statement)
    places = ", ".join(f"${place}" for place in range(1, 10))
    await connection.executemany(f"INSERT INTO kine ({COLUMNS}) VALUES ({places})", ROWS)
    await connection.close()
    return url


async def test_a_kine_moves_with_its_revisions(kine_url: str, target_url: str) -> None:
    moved = await import_kine(target_url, kine_url)
    assert (moved.revision, moved.rows, moved.leases) == (15, 5, 1)
    assert (await check_database(target_url)).problems == []
    async with open_store(target_url) as store:
        found = (await store.range(KeyRange.everything())).items
        assert [(item.key, item.value, item.create_revision, item.mod_revision) for item in found] == [
            (b"/registry/a", b"k8s\x00\xff", 4, 4),
            (b"/registry/b", b"two", 5, 6),
            (b"/registry/d", b"second", 12, 12),
            (b"/registry/events/e", b"event", 13, 13),
            (b"/registry/health", b'{"health":"true"}', 2, 2),
        ]
        changed = await store.update(b"/registry/b", b"three", expect=Revision(6))
        assert changed.mod_revision > 15


async def test_a_time_to_live_becomes_a_lease_of_the_keys_own(kine_url: str, file_url: str) -> None:
    await import_kine(file_url, kine_url)
    async with open_store(file_url) as store:
        (lease,) = await store.leases()
        status = await store.lease_status(lease)
        assert (status.ttl_s, list(status.keys)) == (3600, [b"/registry/events/e"])


async def test_who_had_seen_all_of_a_kine_goes_on_and_others_list_again(kine_url: str, file_url: str) -> None:
    await import_kine(file_url, kine_url)
    async with open_store(file_url) as store:
        watch = store.watch(KeyRange.everything(), start=Revision(16))
        await store.put(b"/next", b"")
        async for batch in watch:
            if batch.events:
                assert [event.kv.key for event in batch.events] == [b"/next"]
                break
        with pytest.raises(Compacted):
            async for _ in store.watch(KeyRange.everything(), start=Revision(15)):
                pass


async def test_a_kine_is_left_as_it_is(tmp_path: Path, file_url: str) -> None:
    url = kine_file(tmp_path / "state.db")
    before = (tmp_path / "state.db").read_bytes()
    await import_kine(file_url, url)
    assert (tmp_path / "state.db").read_bytes() == before


async def test_an_empty_kine_moves_too(tmp_path: Path, file_url: str) -> None:
    assert (await import_kine(file_url, kine_file(tmp_path / "state.db", []))).rows == 0


async def test_only_an_empty_database_takes_a_kine(kine_url: str, file_url: str) -> None:
    await import_kine(file_url, kine_url)
    with pytest.raises(BadTransfer, match="is not empty"):
        await import_kine(file_url, kine_url)


async def test_what_is_no_kine_is_refused(tmp_path: Path, file_url: str, target_url: str) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as raw:
        raw.execute("CREATE TABLE other (id INTEGER)")
    (tmp_path / "text").write_text("hello" * 1000)
    with pytest.raises(DatabaseNotKinepy, match="no table kine"):
        await import_kine(file_url, f"sqlite:///{tmp_path}/other.db")
    with pytest.raises(DatabaseNotKinepy):
        await import_kine(file_url, f"sqlite:///{tmp_path}/text")
    with pytest.raises(DatabaseUnreachable):
        await import_kine(file_url, f"sqlite:///{tmp_path}/nothing.db")
    async with open_store(target_url):
        pass
    with pytest.raises(DatabaseNotKinepy, match="no table kine"):
        await import_kine(file_url, target_url)
