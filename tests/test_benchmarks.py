"""`make bench` runs all benchmarks, also after one that failed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = {
    "early": "raise SystemExit('it needs Chromium: apt-get install chromium')",
    "late": "print('42 per second')",
    "silent": "raise SystemExit(3)",
}


def test_all_benchmarks_run_and_failures_are_listed_with_reasons(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "__main__.py", tmp_path)
    for name, text in SCRIPTS.items():
        (tmp_path / f"{name}.py").write_text(text)
    done = subprocess.run([sys.executable, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "42 per second" in done.stdout
    assert done.stderr.splitlines()[-2:] == [
        "benchmarks/early.py failed: it needs Chromium: apt-get install chromium",
        "benchmarks/silent.py failed: exit status 3",
    ]
    assert subprocess.run([sys.executable, str(tmp_path), "late"], capture_output=True, check=False).returncode == 0


def test_a_missing_browser_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    script = [sys.executable, str(FOLDER / "report_page.py"), "--samples", "10"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr == "Chromium is not installed; install it: apt-get install chromium\n"
