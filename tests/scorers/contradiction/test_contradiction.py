"""The trained scorer of contradictions, and the folder of its packaged weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interloq import InputError
from interloq.learn.ready import CONTRADICTION, scorer_folder
from interloq.learn.store import read_facts
from interloq.scorers.contradiction.model import ContradictionScorer
from interloq.scorers.contradiction.settings import ContradictionSettings
from tests.scorers.contradiction.made_pairs import labelled_pairs


def test_it_learns_what_contradicts(clashing: str) -> None:
    scorer = ContradictionScorer.load(clashing, device="cpu")
    made = labelled_pairs(200, seed=1)
    chances = scorer.chances([labelled.pair for labelled in made])
    labels = np.array([labelled.contradicts for labelled in made])
    assert chances[labels].mean() > 0.8
    assert chances[~labels].mean() < 0.2
    assert read_facts(Path(clashing), kind="contradiction")["pairs"] == {"train": 700, "dev": 100}


def test_each_pair_has_the_same_chance_in_any_batch(clashing: str) -> None:
    scorer = ContradictionScorer.load(clashing, device="cpu")
    pairs = [labelled.pair for labelled in labelled_pairs(30, seed=2)]
    alone = [float(scorer.chances([pair])[0]) for pair in pairs]
    assert scorer.chances(pairs).tolist() == pytest.approx(alone, abs=1e-5)


def test_packaged_weights_are_named_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scorer_folder("./ready", "contradiction") == Path("ready")
    monkeypatch.setitem(CONTRADICTION, "ready", tmp_path / "ready")
    with pytest.raises(InputError, match=r"comes without the weights of contradiction.*recipes/contradiction\.py"):
        scorer_folder("ready", "contradiction")


@pytest.mark.parametrize("setting", ["longest", "batch"])
def test_settings_that_read_nothing_are_refused(setting: str) -> None:
    with pytest.raises(InputError, match=setting):
        ContradictionSettings(**{setting: 0})
