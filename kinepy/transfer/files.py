"""How the format lies on disk: compressed by its suffix, written in one step, read to the end before it is used."""

import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from kinepy.transfer.form import End, Header, Json, end_line, end_of, header_line, header_of, parse_line
from kinepy.transfer.problems import BadTransfer

LINE_BYTES_MAX: Final = 256 * 1024 * 1024
"""A longer line is none of ours: the largest value, escaped, is far below."""

_GZIP_LEVEL: Final = 3
_SQLITE_MAGIC: Final = b"SQLite format 3\x00"
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_MODULES: Final = (("compression", "compression.zstd"), ("backports", "backports.zstd"))
"""Packages with their modules for zstd: Python's own since 3.14, and the same for older ones."""


class Writer:
    """Takes lines, and counts and digests them on their way."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file, self._digest = file, hashlib.sha256()
        self.leases = self.rows = 0
        self._write(header_line(header))

    def _write(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)

    def put(self, lines: Iterable[bytes]) -> int:
        """Write lines; returns their size."""
        data = b"".join(lines)
        self._write(data)
        return len(data)

    def end(self) -> End:
        """Write the last line."""
        end = End(self.leases, self.rows, self._digest.hexdigest())
        self._file.write(end_line(end))
        return end


def is_sqlite(path: Path) -> bool:
    """Whether a file is a SQLite database."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC


@contextmanager
def replacing(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """A file to write, which takes its name when the block ends well and all of it is on the disk.

    Nobody but its owner may read it. One that is there is replaced with `force` only.
    """
    _refuse_existing(path, force=force)
    require_compression(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as raw:
            with _compressed(raw, path) as file:
                yield file
            raw.flush()
            os.fsync(raw.fileno())
        _refuse_existing(path, force=force)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    _sync_folder(path.parent)


def _refuse_existing(path: Path, *, force: bool) -> None:
    if not path.parent.is_dir():
        raise BadTransfer(f"{path.parent} is no folder: create it first, or name a file elsewhere")
    if path.is_dir():
        raise BadTransfer(f"{path} is a folder: name a file in it")
    if path.exists() and not force:
        raise BadTransfer(f"{path} is there already: name another file, or replace it with --force")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_compression(path: Path) -> None:
    """Raise `BadTransfer` when the suffix asks for what this Python lacks."""
    if path.suffix == ".zst":
        _zstd()


def _zstd() -> Any:
    """The module for zstd. Raises `BadTransfer` where there is none."""
    for package, module in _ZSTD_MODULES:
        # Looking for a module whose package is not there would fail.
        if find_spec(package) is not None and find_spec(module) is not None:
            return import_module(module)
    raise BadTransfer(
        "zstd needs Python 3.14 or `pip install 'kinepy[zstd]'`: use them, or a file that ends with .gz"
    )


@contextmanager
def _compressed(raw: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    if path.suffix == ".gz":
        with gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as file:
            yield cast(BinaryIO, file)
    elif path.suffix == ".zst":
        with _zstd().ZstdFile(raw, "wb") as file:
            yield cast(BinaryIO, file)
    else:
        yield raw


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file's content. What it is compressed with is told by its first bytes."""
    with path.open("rb") as raw:
        magic = raw.read(4)
        raw.seek(0)
        if magic.startswith(_GZIP_MAGIC):
            with gzip.GzipFile(fileobj=raw) as file:
                yield cast(BinaryIO, file)
        elif magic == _ZSTD_MAGIC:
            with _zstd().ZstdFile(raw) as file, _zstd_errors(path):
                yield cast(BinaryIO, file)
        else:
            yield raw


@contextmanager
def _zstd_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except _zstd().ZstdError as error:
        raise _cut(path) from error


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file. Raises `BadTransfer` for one that was cut or is damaged."""
    try:
        with _opened(path) as file:
            while line := file.readline(LINE_BYTES_MAX):
                if not line.endswith(b"\n"):
                    raise _cut(path)
                yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _cut(path) from error


def _cut(path: Path) -> BadTransfer:
    return BadTransfer(f"{path} ends in the middle or is damaged: take another copy")


def verified(path: Path) -> tuple[Header, End]:
    """Read a whole file and compare it with its digest. Raises `BadTransfer`; `OSError`."""
    digest, last, count = hashlib.sha256(), b"", 0
    header: Header | None = None
    for line in _lines(path):
        if header is None:
            header = header_of(parse_first(line))
        digest.update(last)
        last, count = line, count + 1
    if header is None:
        raise BadTransfer(f"{path} is empty: take another copy")
    if not last.startswith(b'{"end"'):
        raise _cut(path)
    end = end_of(parse_line(last, count), count)
    if end.sha256 != digest.hexdigest():
        raise BadTransfer(f"{path} is not what was written: its digest is another; take another copy")
    if end.leases + end.rows != count - 2:
        raise BadTransfer(f"{path} has {count} lines and not those that it counts: take another copy")
    return header, end


def parse_first(line: bytes) -> Json:
    """The object of the first line, in which a file that is something else is noticed."""
    try:
        return parse_line(line, 1)
    except BadTransfer as error:
        raise BadTransfer(
            "the file is no export of kinepy: name one made by `kinepy backup` or `kinepy export`"
        ) from error


def body(path: Path) -> Iterator[tuple[int, Json]]:
    """The lines between the first and the last, with their numbers."""
    held: bytes | None = None
    for number, line in enumerate(_lines(path), 1):
        if held is not None:
            yield number - 1, parse_line(held, number - 1)
        held = line if number > 1 else None
