"""`make bench` runs all benchmarks, also after one that failed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
START = """\
import argparse, sys
from _figures import Figure, add_json_option, report
parser = argparse.ArgumentParser()
add_json_option(parser)
path = parser.parse_args().json
"""
SCRIPTS = {
    "early": "raise SystemExit('it needs Chromium: apt-get install chromium')",
    "late": "report('ten replies', [Figure('score', 2.0, 's', 8.0, peer='NLTK'), Figure('rate', 42.0, '/s')], path)",
    "silent": "raise SystemExit(3)",
    "without": "print('no figures')",
}


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A folder of benchmarks, with a page beside it."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name in ("all.py", "_figures.py"):
        shutil.copy(FOLDER / name, folder)
    for name, text in SCRIPTS.items():
        (folder / f"{name}.py").write_text(START + text)
    page = tmp_path / "docs" / "measured" / "speed.md"
    page.parent.mkdir(parents=True)
    page.write_text(
        "Prose.\n\n<!-- figures of late -->\n\nMore.\n\n<!-- figures of early -->\n\n<!-- figures of all -->\n"
    )
    return folder


def run_all(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the benchmarks of a folder."""
    command = [sys.executable, str(folder / "all.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_all_benchmarks_run_and_failures_are_listed_with_reasons(scripts: Path) -> None:
    done = run_all(scripts)
    assert done.returncode == 1
    assert "4 ×" in done.stdout
    assert done.stderr.splitlines()[-3:] == [
        "benchmarks/early.py failed: it needs Chromium: apt-get install chromium",
        "benchmarks/silent.py failed: exit status 3",
        "benchmarks/without.py failed: it wrote no figures",
    ]


def test_a_benchmark_that_takes_too_long_is_stopped(scripts: Path) -> None:
    (scripts / "slow.py").write_text(
        "from _figures import add_json_option  # add_json_option(\nimport time\ntime.sleep(60)"
    )
    done = run_all(scripts, "slow", "--limit", "0.5")
    assert done.stderr.splitlines()[-1] == "benchmarks/slow.py failed: it took longer than 0.5 s"


def test_figures_of_a_benchmark_are_kept_and_shown_on_the_page(scripts: Path) -> None:
    assert run_all(scripts, "late").returncode == 0
    (late,) = json.loads((scripts / "figures.json").read_text()).values()
    assert late["title"] == "ten replies"
    assert [(row["name"], row["ratio"]) for row in late["rows"]] == [("score", 4.0), ("rate", None)]
    assert {"processor", "cores", "memory", "load", "versions"} <= late["machine"].keys()
    assert run_all(scripts, "early").returncode == 1  # keeps what was measured before
    page = (scripts.parent / "docs" / "measured" / "speed.md").read_text()
    assert page.startswith("Prose.\n\n<!-- figures of late -->\n\n| ")
    assert "| score | 2 s | 8 s | NLTK | 4 × |\n| rate | 42.0 /s |" in page
    assert "\n\nMore.\n\n<!-- figures of early -->\n\n<!-- figures of all -->\n\n| benchmark |" in page
    assert "| late | score |" in page
    assert "| late | rate |" not in page
    run_all(scripts, "--page")
    assert (scripts.parent / "docs" / "measured" / "speed.md").read_text() == page


def test_the_page_on_speed_shows_the_figures_that_are_kept(scripts: Path) -> None:
    page = Path("docs/measured/speed.md")
    shutil.copy(FOLDER / "figures.json", scripts)
    shutil.copy(FOLDER.parent / page, scripts.parent / page)
    run_all(scripts, "--page")
    assert (scripts.parent / page).read_text() == (FOLDER.parent / page).read_text(), "run: benchmarks/all.py --page"


def test_a_missing_browser_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    script = [sys.executable, str(FOLDER / "report_page.py"), "--samples", "10"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr == "Chromium is not installed; install it: apt-get install chromium\n"
