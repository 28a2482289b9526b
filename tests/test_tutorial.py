"""The tutorial notebook runs, and prints what is stored in it: `python -m tests.test_tutorial` stores new outputs."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"


def execute_notebook(folder: Path) -> nbformat.NotebookNode:
    """The notebook after running all cells in this folder."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, record_timing=False, coalesce_streams=True, resources=where).execute()
    return notebook


def test_the_notebook_runs_and_prints_what_is_stored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(folder / name.lower()))
    stored, now = nbformat.read(NOTEBOOK, as_version=4), execute_notebook(folder)
    assert any(cell.get("outputs") for cell in stored.cells)
    for before, after in zip(stored.cells, now.cells, strict=True):
        assert after.get("outputs") == before.get("outputs"), f"run: python -m tests.test_tutorial\n{after.source}"
    assert (folder / "tutorial" / "report.html").stat().st_size > 0


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as name:
        nbformat.write(execute_notebook(Path(name)), NOTEBOOK)
