"""Verdicts from files, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError, write
from interloq.compare.compare_file import compare_file
from interloq.compare.compare_options import CompareOptions, GateOptions
from interloq.compare.gate.gate_file import bless_file, gate_file
from interloq.score.score_file import score_file
from tests.made_dialogues import made_dialogues, write_dialogues
from tests.made_replies import CHRF, METRIC, replies, write_replies


@pytest.fixture
def files(folder: Path) -> Path:
    write_replies()
    return folder


def test_versions_of_samples(files: Path) -> None:
    assert gate_file("same.jsonl", CHRF, old="old.jsonl", margin=0.5).outcome == "pass"
    assert gate_file("bad.jsonl", CHRF, old="old.jsonl", margin=0.2).outcome == "regression"
    assert gate_file("same.jsonl", CHRF, old="old.jsonl", margin=0.05).outcome == "undecided"
    compared = compare_file("old.jsonl", "bad.jsonl", CHRF)
    assert gate_file("bad.jsonl", CHRF, old="old.jsonl", margin=0.2).comparison == compared


def test_a_baseline_is_blessed_once_and_never_changed(files: Path) -> None:
    blessed = bless_file("old.jsonl", "baseline.jsonl", CHRF)
    assert len(blessed.units) == 30
    before = (files / "baseline.jsonl").read_bytes()
    found = gate_file("bad.jsonl", baseline="baseline.jsonl", margin=0.2)
    direct = gate_file("bad.jsonl", CHRF, old="old.jsonl", margin=0.2)
    assert found.verdicts == direct.verdicts
    assert found.comparison.pairing == "id"
    assert (files / "baseline.jsonl").read_bytes() == before


def test_a_metric_of_the_baseline_can_be_chosen(files: Path) -> None:
    bless_file("old.jsonl", "baseline.jsonl", CompareOptions(metrics=[METRIC, "bleu"]))
    found = gate_file("bad.jsonl", GateOptions(metrics=["bleu"]), baseline="baseline.jsonl", margin=0.2)
    assert [v.metric for v in found.verdicts] == ["bleu"]
    assert len(gate_file("bad.jsonl", baseline="baseline.jsonl", margin=0.2).verdicts) == 2


def test_repeats_are_averaged_and_noise_told_apart(files: Path) -> None:
    write("again.jsonl", replies(0.9, 3), kind="samples")
    found = gate_file("same.jsonl", replace(CHRF, repeat=["again.jsonl"]), old="old.jsonl", margin=0.5)
    (noise,) = found.noise
    assert noise.bot
    assert noise.judge in (0, 0.0)
    for name in ("old", "same", "again"):
        score_file(f"{name}.jsonl", [METRIC], f"{name}_scores.jsonl", n_bootstrap=0)
    options = GateOptions(repeat=["again_scores.jsonl", "same_scores.jsonl"])
    scored = gate_file("same_scores.jsonl", options, old="old_scores.jsonl", margin=0.5)
    assert scored.noise[0].judge == 0.0
    assert scored.noise[0].bot
    options = GateOptions(samples=["old.jsonl", "same.jsonl"], repeat=["again_scores.jsonl"])
    read = gate_file("same_scores.jsonl", options, old="old_scores.jsonl", margin=0.5)
    assert read.noise[0].judge is None
    assert read.noise[0].bot == pytest.approx(noise.bot)


def test_dialogues_of_different_partner_sets_are_refused(folder: Path) -> None:
    write_dialogues(folder, *made_dialogues({"bot": 0.0}), name="old")
    write_dialogues(folder, *made_dialogues({"bot": 0.0}, seed=1), name="new")
    blessed = bless_file(
        "olddialogues.jsonl", "baseline.jsonl", CompareOptions(metrics=["length"], lower_is_better=False)
    )
    assert blessed.unit == "dialogue"
    options = GateOptions(lower_is_better=False)
    found = gate_file("newdialogues.jsonl", options, baseline="baseline.jsonl", margin=1.0)
    assert found.comparison.same_replies
    assert found.outcome == "undecided"
    for partners, message in (("other", "different partner sets"), ("", "names no partner set")):
        write_dialogues(folder, *made_dialogues({"bot": 0.0}, seed=1), name="new", partners=partners)
        with pytest.raises(InputError, match=message):
            gate_file("newdialogues.jsonl", options, baseline="baseline.jsonl", margin=1.0)


def test_a_version_against_itself_decides_nothing(files: Path) -> None:
    score_file("old.jsonl", [METRIC], "scores.jsonl", n_bootstrap=0)
    bless_file("old.jsonl", "baseline.jsonl", CHRF)
    for found in (
        gate_file("old.jsonl", CHRF, old="old.jsonl", margin=0.5),
        gate_file("scores.jsonl", old="scores.jsonl", margin=0.5),
        gate_file("old.jsonl", baseline="baseline.jsonl", margin=0.5),
    ):
        assert found.exit_code == 4
        assert "the same replies" in found.verdicts[0].reason
    write("other.jsonl", replies(0.9, 5), kind="samples")
    score_file("other.jsonl", [METRIC], "other_scores.jsonl", n_bootstrap=0)
    assert not gate_file("other_scores.jsonl", old="scores.jsonl", margin=0.5).comparison.same_replies
