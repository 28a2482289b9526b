"""The recipe's figures, on a made set."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from interloq import Sample

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture(scope="module")
def recipe() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(RECIPES))
        yield importlib.import_module("few_labels")


def test_intervals_are_narrower_with_scores_that_follow_the_ratings(recipe: ModuleType) -> None:
    words = np.random.default_rng(0).integers(1, 9, size=60)
    samples = [Sample(str(i), ["?"], "word " * n) for i, n in enumerate(words)]
    rated = recipe.RatedSet(samples, np.arange(60), words / 2 + 0.1 * np.arange(60) % 0.7)
    (found,) = recipe.figures({"made": rated}, ["length"], labels=20, scored=80, draws=60)
    assert (found.set, found.metric) == ("made", "length")
    assert found.r > 0.9
    assert found.ratio < 0.6
    assert min(found.covered, found.covered_alone) > 0.85


def test_a_missing_folder_is_one_line_and_exit_2(recipe: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert recipe.main(["--data", "/nowhere"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
