"""Every test that the table in this folder names is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = Path(__file__).with_name("README.md")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ROWS_MIN = 70


def names_in(path: Path) -> set[str]:
    """The names of a file's tests."""
    tree = ast.parse(path.read_text())
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def rows() -> list[str]:
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith(("| defect", "| --"))]


def test_every_defect_names_a_test() -> None:
    assert len(rows()) >= ROWS_MIN
    assert [row for row in rows() if not NAMED.search(row)] == []


def test_every_named_test_is_there() -> None:
    named = NAMED.findall(TABLE.read_text())
    known = {path: names_in(ROOT / path) for path in {path for path, _ in named}}
    assert [f"{path}::{name}" for path, name in named if name not in known[path]] == []


def test_every_test_of_this_folder_is_named() -> None:
    named = set(NAMED.findall(TABLE.read_text()))
    here = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in TABLE.parent.glob("test_*.py")
        if path != Path(__file__).resolve()
        for name in names_in(path)
    }
    assert here - named == set()
