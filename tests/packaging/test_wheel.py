"""The wheel alone is enough: installed into an empty environment it serves."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.processes import READY, free_port

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel. The build backend is a development dependency, so nothing is fetched for it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_the_packages_the_migrations_and_the_data(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"kinepy", "kinepy_server"}
    for wanted in ("kinepy/_migrations/env.py", "kinepy/py.typed", "kinepy_server/py.typed"):
        assert wanted in names
    assert any(name.startswith("kinepy/_migrations/versions/0001") for name in names)
    assert any(name.startswith("kinepy_server/data/") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_empty_environment_with_the_wheel_serves(wheel: Path, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    venv.create(python.parent.parent, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    clean = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "KINEPY"))}
    listen = f"127.0.0.1:{free_port()}"
    command = [str(python.parent / "kinepy"), "serve", "--data", str(tmp_path / "data"), "--listen", listen]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=clean) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        assert line == f"{READY}https://{listen}\n"
        assert process.wait(20) == 0
    assert (tmp_path / "data" / "kinepy.db").exists()
