"""A damaged SQLite file is told in one line by every command that looks at it, and never taken for a sound one."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from kinepy import open_store
from tests.processes import run_kinepy

KEYS = 1000
DAMAGED_BYTES = 600


async def fill(path: Path) -> None:
    async with open_store(f"sqlite:///{path}") as store:
        for first in range(0, KEYS, 100):
            await asyncio.gather(*(store.put(b"/k/%05d" % n, b"v" * 300) for n in range(first, first + 100)))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a file with something in it."""
    path = tmp_path_factory.mktemp("sound") / "kinepy.db"
    asyncio.run(fill(path))
    return path.read_bytes()


def damaged(content: bytes, seed: int) -> bytes:
    """Some of its pages overwritten, or its second half gone."""
    if seed == 0:
        return content[: len(content) // 2]
    chance, changed = Random(seed), bytearray(content)
    for _ in range(4**seed):
        at = chance.randrange(4096, len(content) - DAMAGED_BYTES)
        changed[at : at + DAMAGED_BYTES] = chance.randbytes(DAMAGED_BYTES)
    return bytes(changed)


@pytest.mark.parametrize("seed", range(4))
def test_check_and_backup_tell_of_the_damage_in_one_line(seed: int, sound: bytes, tmp_path: Path) -> None:
    (tmp_path / "kinepy.db").write_bytes(damaged(sound, seed))
    for command in (("check",), ("backup", str(tmp_path / "backup.gz"))):
        done = run_kinepy(*command, "--data", str(tmp_path))
        assert done.returncode == 1, (seed, done.stdout)
        assert done.stderr.startswith("kinepy: ") and done.stderr.count("\n") == 1, (seed, done.stderr)
        assert "malformed" in done.stdout + done.stderr
        assert "backup" in done.stderr or "damaged" in done.stderr
    assert not (tmp_path / "backup.gz").exists()
