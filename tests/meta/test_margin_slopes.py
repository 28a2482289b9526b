"""Margins in human ratings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError, Rating, write
from interloq.meta.gate_file import gate_file
from interloq.pipelines.score_file import score_file
from tests.meta.made_replies import CHRF, METRIC, replies, write_replies


@pytest.fixture
def files(folder: Path) -> Path:
    write_replies()
    return folder


def test_margins_in_ratings(files: Path) -> None:
    found = gate_file("bad.jsonl", replace(CHRF, rated="old.jsonl"), old="old.jsonl", margin=0.5)
    (verdict,) = found.verdicts
    assert (found.outcome, verdict.scale) == ("regression", "rating")
    assert verdict.gain == pytest.approx(-2.5, abs=0.7)
    score_file("old.jsonl", [METRIC], "rated_scores.jsonl", n_bootstrap=0)
    options = replace(CHRF, rated="old.jsonl", rated_scores="rated_scores.jsonl")
    again = gate_file("bad.jsonl", options, old="old.jsonl", margin=0.5)
    assert again.verdicts == found.verdicts
    with pytest.raises(InputError, match="no scores of bleu"):
        gate_file("bad.jsonl", replace(options, metrics=["bleu"]), old="old.jsonl", margin=0.5)
    (people,) = gate_file("bad.jsonl", replace(CHRF, by_ratings=True), old="old.jsonl", margin=0.5).verdicts
    assert people.gain == pytest.approx(-2.5, abs=0.7)
    write("unrated.jsonl", [replace(s, ratings=()) for s in replies(0.5)], kind="samples")
    with pytest.raises(InputError, match=r"unrated.jsonl: no ratings to convert the margin with"):
        gate_file("bad.jsonl", replace(CHRF, rated="unrated.jsonl"), old="old.jsonl", margin=0.5)


def test_ratings_of_another_aspect(files: Path) -> None:
    write("wit.jsonl", [replace(s, ratings=(Rating(3, aspect="wit"),)) for s in replies(0.5)], kind="samples")
    with pytest.raises(InputError, match="no ratings to convert the margin with; add ratings, or name --aspect"):
        gate_file("bad.jsonl", replace(CHRF, rated="wit.jsonl"), old="old.jsonl", margin=0.5)
