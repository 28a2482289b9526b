"""Verdicts from files, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from interloq import InputError, Rating, Sample, Score, write
from interloq.meta.gate_file import bless_file, gate_file
from interloq.pipelines.score_file import score_file
from tests.made_dialogues import made_dialogues, write_dialogues

METRIC = "chrf"


def replies(good: float, seed: int = 0, n: int = 30) -> list[Sample]:
    """Replies of which a share repeats the reference; the others say something else."""
    rng = np.random.default_rng(seed)
    text = [f"the answer to {i} is {i * 7}" if rng.random() < good else f"no idea {seed}" for i in range(n)]
    return [
        Sample(
            str(i), [f"what is {i} ?"], reply, [f"the answer to {i} is {i * 7}"], "bot", [5 if "answer" in reply else 2]
        )
        for i, reply in enumerate(text)
    ]


@pytest.fixture
def files(folder: Path) -> Path:
    for name, good, seed in (("old", 0.9, 0), ("same", 0.9, 1), ("bad", 0.1, 2)):
        write(f"{name}.jsonl", replies(good, seed), kind="samples")
    return folder


def test_versions_of_samples(files: Path) -> None:
    assert gate_file("same.jsonl", old="old.jsonl", metrics=[METRIC], margin=0.5).outcome == "pass"
    assert gate_file("bad.jsonl", old="old.jsonl", metrics=[METRIC], margin=0.2).outcome == "regression"
    assert gate_file("same.jsonl", old="old.jsonl", metrics=[METRIC], margin=0.05).outcome == "undecided"


def test_a_baseline_is_blessed_once_and_never_changed(files: Path) -> None:
    blessed = bless_file("old.jsonl", "baseline.jsonl", metrics=[METRIC])
    assert len(blessed.units) == 30
    before = (files / "baseline.jsonl").read_bytes()
    found = gate_file("bad.jsonl", baseline="baseline.jsonl", margin=0.2)
    direct = gate_file("bad.jsonl", old="old.jsonl", metrics=[METRIC], margin=0.2)
    assert found.verdicts == direct.verdicts
    assert found.comparison.pairing == "id"
    assert (files / "baseline.jsonl").read_bytes() == before


def test_a_metric_of_the_baseline_can_be_chosen(files: Path) -> None:
    bless_file("old.jsonl", "baseline.jsonl", metrics=[METRIC, "bleu"])
    found = gate_file("bad.jsonl", baseline="baseline.jsonl", metrics=["bleu"], margin=0.2)
    assert [v.metric for v in found.verdicts] == ["bleu"]
    assert len(gate_file("bad.jsonl", baseline="baseline.jsonl", margin=0.2).verdicts) == 2


def test_margins_in_ratings(files: Path) -> None:
    found = gate_file("bad.jsonl", old="old.jsonl", metrics=[METRIC], margin=0.5, rated="old.jsonl")
    (verdict,) = found.verdicts
    assert (found.outcome, verdict.scale) == ("regression", "rating")
    assert verdict.gain == pytest.approx(-2.5, abs=0.7)
    score_file("old.jsonl", [METRIC], "rated_scores.jsonl", n_bootstrap=0)
    options = {"rated": "old.jsonl", "rated_scores": "rated_scores.jsonl"}
    again = gate_file("bad.jsonl", old="old.jsonl", metrics=[METRIC], margin=0.5, **options)  # type: ignore[arg-type]
    assert again.verdicts == found.verdicts
    with pytest.raises(InputError, match="no scores of bleu"):
        gate_file("bad.jsonl", old="old.jsonl", metrics=["bleu"], margin=0.5, **options)  # type: ignore[arg-type]
    (people,) = gate_file("bad.jsonl", old="old.jsonl", metrics=[METRIC], margin=0.5, by_ratings=True).verdicts
    assert people.gain == pytest.approx(-2.5, abs=0.7)
    write("unrated.jsonl", [replace(s, ratings=()) for s in replies(0.5)], kind="samples")
    with pytest.raises(InputError, match=r"unrated.jsonl: no ratings to convert the margin with"):
        gate_file("bad.jsonl", old="old.jsonl", metrics=[METRIC], margin=0.5, rated="unrated.jsonl")


def test_repeats_are_averaged_and_noise_told_apart(files: Path) -> None:
    write("again.jsonl", replies(0.9, 3), kind="samples")
    found = gate_file("same.jsonl", old="old.jsonl", metrics=[METRIC], margin=0.5, repeat=["again.jsonl"])
    (noise,) = found.noise
    assert noise.bot
    assert noise.judge in (0, 0.0)
    for name in ("old", "same", "again"):
        score_file(f"{name}.jsonl", [METRIC], f"{name}_scores.jsonl", n_bootstrap=0)
    scored = gate_file(
        "same_scores.jsonl", old="old_scores.jsonl", margin=0.5, repeat=["again_scores.jsonl", "same_scores.jsonl"]
    )
    assert scored.noise[0].judge == 0.0
    assert scored.noise[0].bot
    options = {"samples": ["old.jsonl", "same.jsonl"], "repeat": ["again_scores.jsonl"]}
    read = gate_file("same_scores.jsonl", old="old_scores.jsonl", margin=0.5, **options)  # type: ignore[arg-type]
    assert read.noise[0].judge is None
    assert read.noise[0].bot == pytest.approx(noise.bot)


def test_dialogues_of_different_partner_sets_are_refused(folder: Path) -> None:
    write_dialogues(folder, *made_dialogues({"bot": 0.0}), name="old")
    write_dialogues(folder, *made_dialogues({"bot": 0.0}, seed=1), name="new")
    blessed = bless_file("olddialogues.jsonl", "baseline.jsonl", metrics=["length"], lower_is_better=False)
    assert blessed.unit == "dialogue"
    options = {"baseline": "baseline.jsonl", "margin": 1.0, "lower_is_better": False}
    assert gate_file("newdialogues.jsonl", **options).outcome == "pass"  # type: ignore[arg-type]
    for partners, message in (("other", "different partner sets"), ("", "names no partner set")):
        write_dialogues(folder, *made_dialogues({"bot": 0.0}, seed=1), name="new", partners=partners)
        with pytest.raises(InputError, match=message):
            gate_file("newdialogues.jsonl", **options)  # type: ignore[arg-type]


def test_different_judges_are_refused(files: Path) -> None:
    bless_file("old.jsonl", "baseline.jsonl", metrics=[METRIC])
    scores = [Score(str(i), METRIC, 1.0, system="bot") for i in range(30)]
    judge = {"name": "chrf(order=6)", "parts": {"model": "another"}}
    write("scores.jsonl", scores, kind="scores", results=[{"metric": METRIC, "signature": judge}])
    with pytest.raises(InputError, match=r"baseline.jsonl and scores.jsonl were scored by different versions of chrf"):
        gate_file("scores.jsonl", baseline="baseline.jsonl", margin=1.0)


def test_what_is_doubtful_is_refused(files: Path) -> None:
    bare = [replace(s, references=()) if s.id == "3" else s for s in replies(0.9)]
    write("bare.jsonl", bare, kind="samples")
    write("short.jsonl", replies(0.9)[:20], kind="samples")
    write("unsigned.jsonl", [Score(str(i), METRIC, 1.0) for i in range(30)], kind="scores")
    score_file("old.jsonl", [METRIC], "old_scores.jsonl", n_bootstrap=0)
    (files / "broken.jsonl").write_bytes((files / "same.jsonl").read_bytes() + b'{"broken\n')
    for new, old, metrics, message in (
        (
            "bare.jsonl",
            "old.jsonl",
            [METRIC],
            r"chrf left 1 sample of the new version unscored, .*'3' \(no references\)",
        ),
        ("short.jsonl", "old.jsonl", [METRIC], "the test sets differ: 20 samples in both, 10 only in the old version"),
        ("broken.jsonl", "old.jsonl", [METRIC], r"broken.jsonl:32: not valid JSON"),
        ("same.jsonl", "old.jsonl", ["length"], "neither a high nor a low score is better"),
        ("same.jsonl", "old.jsonl", ["distinct"], "scores sets of replies"),
        ("unsigned.jsonl", "unsigned.jsonl", [], "the scores of chrf have no signature"),
        ("unsigned.jsonl", "old_scores.jsonl", [], "the scores of chrf have no signature"),
        ("same.jsonl", None, [METRIC], "either an old version or a baseline"),
    ):
        with pytest.raises(InputError, match=message):
            gate_file(new, old=old, metrics=metrics, margin=0.5)
    with pytest.raises(InputError, match="unscored"):
        bless_file("bare.jsonl", "baseline.jsonl", metrics=[METRIC])
    assert not (files / "baseline.jsonl").exists()


def test_dialogues_that_cannot_be_judged_are_refused(folder: Path) -> None:
    dialogues, _ = made_dialogues({"bot": 0.0})
    lost = replace(dialogues[0], id="lost", systems={"nobody": "bot"})
    write("lost.jsonl", [*dialogues, lost], kind="dialogues")
    with pytest.raises(InputError, match="not all of the input can be used: 1 dialogue has no speaker"):
        bless_file("lost.jsonl", "baseline.jsonl", metrics=[METRIC], new_system="bot", lower_is_better=False)


def test_ratings_of_another_aspect(files: Path) -> None:
    write("wit.jsonl", [replace(s, ratings=(Rating(3, aspect="wit"),)) for s in replies(0.5)], kind="samples")
    with pytest.raises(InputError, match="no ratings to convert the margin with; add ratings, or name --aspect"):
        gate_file("bad.jsonl", old="old.jsonl", metrics=[METRIC], margin=0.5, rated="wit.jsonl")
