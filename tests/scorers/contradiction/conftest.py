"""Fixtures that several files of this folder use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scorers.contradiction.made_pairs import small_contradiction_scorer


@pytest.fixture(scope="session")
def clashing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A scorer that knows when two made statements contradict each other."""
    folder: Path = small_contradiction_scorer(tmp_path_factory.mktemp("clashing"), epochs=8, n=800)
    return str(folder)
