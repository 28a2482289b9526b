"""What `pip install .` gives: every file the package needs, the command, the version and the extras."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from interloq import __version__

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    target = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", str(target), str(ROOT)], check=True)
    return zipfile.ZipFile(next(target.glob("*.whl")))


def test_the_wheel_holds_all_files_of_the_package(wheel: zipfile.ZipFile) -> None:
    files = subprocess.run(
        ["git", "ls-files", "interloq"], cwd=ROOT, capture_output=True, text=True, check=True  # noqa: S607
    ).stdout.split()  # fmt: skip
    assert files, "the test needs a git checkout"
    assert set(files) <= set(wheel.namelist())


def test_the_wheel_gives_the_command_and_the_version(wheel: zipfile.ZipFile) -> None:
    info = f"interloq-{__version__}.dist-info"
    assert "interloq = interloq.cli.main:main" in wheel.read(f"{info}/entry_points.txt").decode()
    metadata = wheel.read(f"{info}/METADATA").decode()
    assert f"Version: {__version__}" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    assert {f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"} <= set(wheel.namelist())
    core = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert not [line for line in core if "torch" in line or "nltk" in line or "transformers" in line]


def test_type_checkers_see_the_types_of_an_installed_wheel(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    packages = next((tmp_path / "venv").glob("lib/python3*/site-packages"))
    wheel.extractall(packages)
    program = "from interloq import Sample, load\nreveal_type(Sample('1', [], 'hi').response)\nreveal_type(load)\n"
    (tmp_path / "program.py").write_text(program)
    options = ["--config-file=", f"--cache-dir={tmp_path / 'cache'}", "--ignore-missing-imports"]
    options += ["--python-executable", str(tmp_path / "venv" / "bin" / "python")]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'Revealed type is "str"' in checked.stdout.replace("builtins.", "")
    assert "kind" in checked.stdout, "the arguments of functions are known"


def test_the_citation_names_this_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
