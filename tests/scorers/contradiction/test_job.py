"""Training of the scorer of contradictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError
from interloq.learn.job import train
from interloq.learn.store import read_facts
from interloq.scorers.contradiction.job import LabelledRows
from interloq.scorers.contradiction.model import ContradictionScorer
from interloq.scorers.contradiction.turn_pairs import TurnPair
from tests.scorers.contradiction.made_pairs import labelled_pairs, small_contradiction_scorer, small_job, statement


def test_low_rank_updates_are_stored_alone(tmp_path: Path) -> None:
    folder = small_contradiction_scorer(tmp_path, low_rank=2)
    facts = read_facts(folder, kind="contradiction")
    assert facts["low_rank"]["low_rank"] == 2
    assert not (folder / "config.json").exists()
    scorer = ContradictionScorer.load(folder, device="cpu")
    pair = TurnPair(statement("tea", never=True), statement("tea", never=False), same=True)
    assert 0 < scorer.chances([pair])[0] < 1
    assert scorer.signature().startswith("contradiction-")


def test_a_finished_training_is_kept_and_other_pairs_are_refused(tmp_path: Path) -> None:
    folder = small_contradiction_scorer(tmp_path)
    before = (folder / "model.safetensors").stat().st_mtime_ns
    train(small_job(tmp_path), folder, device="cpu")
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    with pytest.raises(InputError, match="other data"):
        train(small_job(tmp_path, source="others"), folder, device="cpu")


def test_pairs_of_both_parts_are_needed(tmp_path: Path) -> None:
    job = small_job(tmp_path)
    alike = [replace(labelled, dev=False) for labelled in labelled_pairs(10)]
    with pytest.raises(InputError, match="0 of 10 pairs are for dev"):
        train(replace(job, pairs=lambda: alike), tmp_path / "trained", device="cpu")


def test_turns_must_fit_into_the_encoder(tmp_path: Path) -> None:
    job = small_job(tmp_path)
    with pytest.raises(InputError, match="reads 64 tokens, but three turns have up to 94"):
        train(replace(job, settings=replace(job.settings, longest=30)), tmp_path / "trained", device="cpu")


def test_each_distinct_text_is_stored_once(tmp_path: Path) -> None:
    job = small_job(tmp_path)
    rows = LabelledRows.of(labelled_pairs(50), job.subwords)
    assert rows.texts.shape == (50, 3)
    assert len(rows.ends) - 1 == rows.texts.max() + 1
    assert len(rows.places("train")) + len(rows.places("dev")) == 50
