"""The README says what is there: every command, option and setting, and its examples run."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from kinepy import Settings
from kinepy_server.cli import options
from kinepy_server.cli.commands import app
from kinepy_server.server_settings import ServerSettings

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text()
LINK = re.compile(r"\]\(([^)#\s]+)")


def settings() -> Iterator[tuple[str, object]]:
    """Name and default of every setting."""
    for kind in (Settings(), ServerSettings()):
        for field in fields(kind):
            yield field.name, getattr(kind, field.name)


def option_names() -> list[str]:
    """Every option of every command."""
    annotated: list[Any] = [value for value in vars(options).values() if hasattr(value, "__metadata__")]
    # typer takes the first name for a default until it meets the parameter.
    return [one.__metadata__[0].default for one in annotated]


@pytest.mark.parametrize(
    "name",
    [command.name or command.callback.__name__ for command in app.registered_commands if command.callback],
)
def test_every_command_is_told(name: str) -> None:
    assert f"| `kinepy {name}` |" in README


@pytest.mark.parametrize(
    "name", [name for name in option_names() if name not in ("--etcd-listen", "--reason")]
)
def test_every_option_is_told(name: str) -> None:
    assert re.search(rf"`[^`]*{name}\b", README)


@pytest.mark.parametrize(("name", "default"), list(settings()))
def test_every_setting_is_told_with_its_default(name: str, default: object) -> None:
    assert f"| `{name}` | {shown(default)} |" in README


def shown(default: object) -> str:
    """A default as the README writes it."""
    text = "" if default in (None, "", ()) else f"{default:,}" if isinstance(default, int) else str(default)
    return text.replace(",", " ")


@pytest.mark.parametrize("promise", [f"P{number}" for number in range(1, 13)])
def test_every_promise_links_its_tests(promise: str) -> None:
    row = README.split(f"| {promise} |")[1].split("\n")[0]
    links = LINK.findall(row)
    assert links
    assert all(link.startswith("tests/") for link in links)


def test_every_link_into_the_repository_leads_somewhere() -> None:
    links = [link for link in LINK.findall(README) if not link.startswith(("http", "#"))]
    assert len(links) > 12
    for link in links:
        assert (ROOT / link).exists(), link


def test_paths_in_the_table_of_changes_exist() -> None:
    table = README.split("| where do I change ... | |")[1].split("\n\n")[0]
    for path in re.findall(r"`((?:kinepy|server|migrations)/[\w/.]+)`", table):
        assert (ROOT / path).exists(), path


def test_the_example_of_the_library_runs(tmp_path: Path) -> None:
    example = README.split("### As a library")[1].split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (0, "b'done'\n"), done.stderr


def test_the_example_of_the_plugin_runs(tmp_path: Path) -> None:
    example = README.split("### In tests")[1].split("```python\n")[1].split("```")[0]
    (tmp_path / "test_example.py").write_text(example)
    command = [sys.executable, "-m", "pytest", "-q", str(tmp_path / "test_example.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
