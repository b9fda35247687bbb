"""A database of every earlier schema keeps every event, key and lease when this program takes it over."""

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from kinepy import KeyRange, Revision, open_store
from kinepy.sql.tables import SCHEMA_VERSIONS
from kinepy.upkeep import check_database
from tests.backends import DURABLE_BACKENDS, Backend, DatabaseMaker
from tests.operations.filling import log_of
from tests.operations.old_schemas import FILLS, log_rows, make


@pytest.fixture(params=DURABLE_BACKENDS, ids=lambda backend: backend.name)
async def old_url(request: pytest.FixtureRequest, databases: DatabaseMaker, version: str) -> str:
    backend: Backend = request.param
    url = databases.fresh_url(backend, migrated=False)
    if url.startswith("sqlite"):
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            make(connection, version)
        engine.dispose()
    else:
        async_engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
        async with async_engine.begin() as async_connection:
            await async_connection.run_sync(make, version)
        await async_engine.dispose()
    return url


def test_every_earlier_schema_is_tried() -> None:
    assert set(SCHEMA_VERSIONS[:-1]) <= set(FILLS)


@pytest.mark.parametrize("version", SCHEMA_VERSIONS[:-1])
async def test_an_upgrade_keeps_every_event(version: str, old_url: str) -> None:
    rows = log_rows()
    async with open_store(old_url) as store:
        assert await store.current_revision() == rows[-1]["revision"]
        seen = []
        async for batch in store.watch(KeyRange.everything(), start=Revision(2)):
            seen += [(event.revision, event.kv.key) for event in batch.events]
            if batch.progress >= rows[-1]["revision"]:
                break
        assert seen == [(row["revision"], row["key"]) for row in rows]
        live = {item.key: item.value for item in (await store.range(KeyRange.everything())).items}
        assert len(live) == 16 and set(live.values()) == {b"1 \xff"}
        assert list((await store.lease_status(7)).keys) == [b"/k/03"]
        assert (await store.put(b"/k/00", b"again")).mod_revision == rows[-1]["revision"] + 1
    assert (await check_database(old_url)).problems == []


@pytest.mark.parametrize("version", SCHEMA_VERSIONS[:-1])
async def test_an_upgrade_changes_no_row(version: str, old_url: str) -> None:
    async with open_store(old_url):
        pass
    assert [entry.row._asdict() for entry in await log_of(old_url)] == log_rows()
