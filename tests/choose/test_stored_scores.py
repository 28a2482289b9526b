"""Choosing a metric by scores in files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from interloq import Dialogue, InputError, Rating, Turn, write
from interloq.metrics.overlap.chrf import Chrf
from interloq.metrics.overlap.rouge_l import RougeL
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from tests.choose.test_choose_file import choose_fast, files, rated

__all__ = ["files"]  # a fixture


def test_stored_scores_are_not_computed_again(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    score_file("rated.jsonl", ["mine=chrf", "rouge_l"], "scores.jsonl", options=ScoreOptions(n_bootstrap=0))
    computed = choose_fast("rated.jsonl", ["mine=chrf", "rouge_l"], "computed.json")
    monkeypatch.setattr(Chrf, "stats", lambda *_: pytest.fail("computed again"))
    monkeypatch.setattr(RougeL, "stats", lambda *_: pytest.fail("computed again"))
    for metrics in ([], ["rouge_l"]):
        choice = choose_fast("rated.jsonl", metrics, "stored.json", scores=["scores.jsonl"])
        assert (choice.rows, choice.chosen, choice.spec) == (computed.rows, computed.chosen, computed.spec)
    assert (files / "stored.json").read_text() == (files / "computed.json").read_text()


def test_stored_scores_are_blended_and_mixed(files: Path) -> None:
    score_file("rated.jsonl", ["chrf"], "chrf.jsonl", options=ScoreOptions(n_bootstrap=0))
    score_file("rated.jsonl", ["nist"], "nist.jsonl", options=ScoreOptions(n_bootstrap=0))
    choice = choose_fast("rated.jsonl", ["rouge_l"], scores=["chrf.jsonl", "nist.jsonl"])
    assert {row.name for row in choice.rows} >= {"chrf", "nist", "rouge_l", "length", "blend with learned weights"}
    assert any(note.startswith("nist: its constants were fitted to all samples") for note in choice.notes)


def test_what_cannot_be_used_of_stored_scores_is_said(files: Path) -> None:
    samples = list(rated())
    score_file("rated.jsonl", ["chrf", "distinct"], "scores.jsonl", options=ScoreOptions(n_bootstrap=0))
    lines = (files / "scores.jsonl").read_text().replace('"metric":"chrf"', '"metric":"theirs"')
    (files / "scores.jsonl").write_text(lines)
    choice = choose_fast("rated.jsonl", ["rouge_l"], scores=["scores.jsonl"])
    assert choice.excluded["distinct"] == "it scores sets of replies, not single ones"
    assert "not registered" in choice.excluded["theirs"]
    score_file("rated.jsonl", ["chrf"], "scores.jsonl", options=ScoreOptions(n_bootstrap=0))
    choice = choose_fast("rated.jsonl", ["rouge_l"], scores=["scores.jsonl"], drop_own_replies=True)
    assert "--drop-own-replies" in choice.excluded["chrf"]
    write("rated.jsonl", [replace(sample, response="something else") for sample in samples], kind="samples")
    with pytest.raises(InputError, match="the reply of '00' of 'bot' is not the one that was scored"):
        choose_fast("rated.jsonl", [], scores=["scores.jsonl"])
    write("rated.jsonl", [replace(sample, id=f"x{sample.id}") for sample in samples], kind="samples")
    with pytest.raises(InputError, match="none of the stored scores is of a rated sample: the first is of '00'"):
        choose_fast("rated.jsonl", [], scores=["scores.jsonl"])


def test_stored_scores_of_dialogues(folder: Path) -> None:
    rng = np.random.default_rng(1)
    dialogues = []
    for i in range(24):
        turns = [Turn("well " * int(rng.integers(1, 9)), "us"[j % 2]) for j in range(2 * int(rng.integers(1, 6)))]
        dialogues.append(Dialogue(f"d{i}", turns, {"s": "bot"}, [Rating(float(len(turns) + rng.normal()), "ann")]))
    write("dialogues.jsonl", dialogues, kind="dialogues")
    metric = "ruber(referenced=length(tokenizer='char'),unreferenced=length)"
    score_file("dialogues.jsonl", [metric], "scores.jsonl", options=ScoreOptions(n_bootstrap=0))
    stored = choose_fast("dialogues.jsonl", [], scores=["scores.jsonl"])
    assert stored.rows == choose_fast("dialogues.jsonl", [metric]).rows
