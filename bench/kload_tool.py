"""The load generator: kload built by Go where Go is, else the same operations by a client in Python."""

import asyncio
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BINARY = Path(sys.prefix) / "bin" / "kload"


def build() -> str | None:
    """Build kload; returns its path, or None where there is no Go."""
    go = shutil.which("go")
    if go is None:
        return None
    source = HERE / "kload" / "main.go"
    if not BINARY.exists() or BINARY.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([go, "build", "-o", str(BINARY), "."], cwd=HERE / "kload", check=True)
    return str(BINARY)


def run(url: str, operation: str, **options: str | int) -> dict[str, Any]:
    """Run one operation; returns kload's figures, errors among them. Prints the command."""
    arguments = ["-url", url, "-op", operation]
    for name, value in options.items():
        arguments += [f"-{name}", str(value)]
    binary = build()
    command = [binary] if binary else [sys.executable, "-m", "bench.python_load"]
    print("$", shlex.join([Path(command[-1]).name, *arguments]), flush=True)
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True, cwd=HERE.parent)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def load(url: str, operation: str, **options: str | int) -> dict[str, Any]:
    """As `run`, but errors end the program."""
    figures = run(url, operation, **options)
    if figures["errors"]:
        raise SystemExit(f"{operation} met errors: {figures['errors']}")
    return figures


def load_in_thread(url: str, operation: str, **options: str | int) -> "asyncio.Future[dict[str, Any]]":
    """As `load`, beside other work of the running loop."""
    return asyncio.get_running_loop().run_in_executor(None, lambda: load(url, operation, **options))
