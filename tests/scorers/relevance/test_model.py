"""Folders of trained relevance scorers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from interloq.scorers.relevance.model import RelevanceScorer
from tests.made_relevance import small_scorer


@pytest.fixture(scope="module")
def scorer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_scorer(tmp_path_factory.mktemp("scorer"))


def test_the_folder_needs_no_other(scorer_folder: Path, tmp_path: Path) -> None:
    alone = shutil.copytree(scorer_folder, tmp_path / "alone")
    asked = ([["tea ?"], ["tea ?", "rain ."]], ["tea .", "rain !"])
    first, second = (RelevanceScorer.load(folder, device="cpu").scores(*asked) for folder in (scorer_folder, alone))
    assert np.array_equal(first, second)


def test_the_head_reads_the_states(scorer_folder: Path) -> None:
    scorer = RelevanceScorer.load(scorer_folder, device="cpu")
    asked = ([["tea ?"], ["tea ?", "rain .", " "], ["tea ?"]], ["tea .", "rain !", "tea ."])
    states = scorer.states(*asked)
    assert states.shape == (3, scorer.dimensions)
    assert np.array_equal(states[0], states[2])
    head = scorer.network.head
    logits = states @ head.weight.detach().double().numpy()[0] + head.bias.item()
    wanted = 1 / (1 + np.exp(-logits / scorer.facts["temperature"]))
    assert scorer.scores(*asked) == pytest.approx(wanted, abs=1e-6)
    assert scorer.states([], []).shape == (0, scorer.dimensions)
