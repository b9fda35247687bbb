"""Size limits of the source: no file of 400 lines or more, no function of more than 60.

Run by `make check`; prints what is too long and exits with 1.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("kinepy", "server", "migrations", "tests", "bench")
NOT_OURS = (Path("tests/replay"), Path("tests/golden"))
FILE_LINES_MAX = 399
FUNCTION_LINES_MAX = 60


def sources() -> Iterator[Path]:
    """Every Python file the limits hold for, relative to the root."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            relative = path.relative_to(ROOT)
            if not any(relative.is_relative_to(other) for other in NOT_OURS):
                yield relative


def problems_of(path: Path) -> Iterator[str]:
    """What of a file is too long."""
    text = (ROOT / path).read_text()
    lines = text.count("\n")
    if lines > FILE_LINES_MAX:
        yield f"{path}: {lines} lines, at most {FILE_LINES_MAX}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield f"{path}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LINES_MAX}"


def main() -> int:
    """0 when everything is within the limits."""
    problems = [problem for path in sources() for problem in problems_of(path)]
    print("\n".join(problems) or "sizes: all files and functions are within the limits")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
