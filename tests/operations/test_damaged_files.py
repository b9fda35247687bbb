"""A file that is damaged, cut, or something else is refused in one line, and nothing is changed."""

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kinepy.backup import BadTransfer, export_database, import_database, restore_database
from kinepy.transfer import files
from tests.operations.filling import fill, state_of

Damage = Callable[[bytes], bytes]


def signed(lines: list[bytes]) -> bytes:
    """Lines with a last one that fits them: what is wrong is not told by the digest."""
    body = b"".join(lines[:-1])
    end = {"end": {"leases": 1, "rows": len(lines) - 3, "sha256": hashlib.sha256(body).hexdigest()}}
    return body + json.dumps(end, separators=(",", ":")).encode() + b"\n"


def edited(number: int, old: bytes, new: bytes) -> Damage:
    def damage(content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        assert old in lines[number], lines[number][:300]
        lines[number] = lines[number].replace(old, new, 1)
        return signed(lines)

    return damage


def repeated(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    return signed([*lines[:3], lines[2], *lines[3:]])


def zstd(content: bytes) -> bytes:
    compressed: bytes = files._zstd().compress(content)
    return compressed


DAMAGES: dict[str, tuple[Damage, str]] = {
    "empty": (lambda _: b"", "is empty"),
    "text": (lambda _: b"hello\n", "is no export"),
    "no end of line": (lambda _: b"hello", "ends in the middle"),
    "other JSON": (lambda _: b'{"kind": "List"}\n', "is no export"),
    "cut in a line": (lambda content: content[:-9], "ends in the middle"),
    "cut between lines": (
        lambda content: b"".join(content.splitlines(keepends=True)[:-1]),
        "ends in the middle",
    ),
    "a changed byte": (lambda content: content.replace(b"user 1", b"user 9", 1), "digest"),
    "a missing line": (
        lambda content: b"".join(
            content.splitlines(keepends=True)[:4] + content.splitlines(keepends=True)[5:]
        ),
        "digest",
    ),
    "something after the end": (lambda content: content + b"{}\n", "ends in the middle"),
    "cut gzip": (lambda content: gzip.compress(content)[:-20], "ends in the middle"),
    "damaged gzip": (lambda content: gzip.compress(content)[:200] + bytes(500), "ends in the middle"),
    "cut head of gzip": (lambda _: b"\x1f\x8b\x08", "ends in the middle"),
    "cut zstd": (lambda content: zstd(content)[:-20], "ends in the middle"),
    "damaged zstd": (lambda content: zstd(content)[:200] + bytes(500), "ends in the middle"),
    "cut head of zstd": (lambda _: b"\x28\xb5\x2f\xfd", "ends in the middle"),
    "newer version": (edited(0, b'"version":1', b'"version":2'), "version 2 of the format"),
    "negative revision": (edited(2, b'"revision":', b'"revision":-'), "line 3 is not of the format"),
    "huge number": (
        edited(2, b'"version":', b'"version":99999999999999999999'),
        "line 3 is not of the format",
    ),
    "no key": (edited(2, b'"key', b'"kay'), "line 3 is not of the format"),
    "a row twice": (repeated, "contradicts|promise"),
    "a broken chain": (edited(8, b'"version":1', b'"version":7'), "promise"),
}


@pytest.fixture
async def history(file_url: str, tmp_path: Path) -> bytes:
    await fill(file_url)
    await export_database(file_url, tmp_path / "good", contents="history")
    return (tmp_path / "good").read_bytes()


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_bad_file_changes_nothing(damage: str, history: bytes, file_url: str, tmp_path: Path) -> None:
    change, told = DAMAGES[damage]
    (tmp_path / "bad").write_bytes(change(history))
    before = await state_of(file_url)
    with pytest.raises(Exception, match=told) as error:
        await restore_database(file_url, tmp_path / "bad", force=True)
    assert "\n" not in str(error.value)
    assert await state_of(file_url) == before


async def test_a_bad_file_is_refused_on_postgres(history: bytes, tmp_path: Path, target_url: str) -> None:
    (tmp_path / "bad").write_bytes(repeated(history))
    with pytest.raises(Exception, match=r"contradicts|promise"):
        await import_database(target_url, tmp_path / "bad")
    assert await state_of(target_url) == []


async def test_an_unknown_suffix_is_plain_text(history: bytes) -> None:
    assert history.startswith(b'{"format":"kinepy"')


async def test_zstd_comes_back_and_is_smaller(file_url: str, target_url: str, tmp_path: Path) -> None:
    await fill(file_url)
    await export_database(file_url, tmp_path / "plain")
    await export_database(file_url, tmp_path / "backup.zst")
    assert (tmp_path / "backup.zst").read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    assert (tmp_path / "backup.zst").stat().st_size < (tmp_path / "plain").stat().st_size / 10
    (tmp_path / "backup.zst").rename(tmp_path / "told by its content")
    await restore_database(target_url, tmp_path / "told by its content")
    assert [kv.value for kv in await state_of(target_url)] == [kv.value for kv in await state_of(file_url)]


async def test_zstd_is_refused_where_it_is_not_installed(
    file_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").write_bytes(b"\x28\xb5\x2f\xfd")
    monkeypatch.setattr("kinepy.transfer.files._ZSTD_MODULES", (("nowhere", "nowhere.zstd"),))
    with pytest.raises(BadTransfer, match=r"kinepy\[zstd\]"):
        await export_database(file_url, tmp_path / "backup.zst")
    with pytest.raises(BadTransfer, match=r"kinepy\[zstd\]"):
        await restore_database(file_url, tmp_path / "there")
    assert not (tmp_path / "backup.zst").exists()
