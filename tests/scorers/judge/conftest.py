from __future__ import annotations

from pathlib import Path

import pytest

from tests.made_judge import small_judge
from tests.made_relevance import small_scorer


@pytest.fixture(scope="session")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A relevance scorer."""
    return small_scorer(tmp_path_factory.mktemp("relevance"), epochs=2)


@pytest.fixture(scope="session")
def judge(scorer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge trained on its states."""
    return small_judge(tmp_path_factory.mktemp("judge"), scorer)
