"""What a gate refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError, Sample, Score, write
from interloq.compare.compare_options import GateOptions
from interloq.compare.gate.gate_file import bless_file, gate_file
from interloq.score.score_file import score_file
from tests.made_dialogues import made_dialogues
from tests.made_replies import CHRF, METRIC, replies, write_replies


@pytest.fixture
def files(folder: Path) -> Path:
    write_replies()
    return folder


def test_different_judges_are_refused(files: Path) -> None:
    bless_file("old.jsonl", "baseline.jsonl", CHRF)
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
        (
            "same.jsonl",
            "old.jsonl",
            ["length"],
            "cannot gate by length: neither a high .*; .* or add --higher-is-better or",
        ),
        ("same.jsonl", "old.jsonl", ["distinct"], "cannot gate by distinct: it scores sets of replies"),
        ("unsigned.jsonl", "unsigned.jsonl", [], "the scores of chrf have no signature"),
        ("unsigned.jsonl", "old_scores.jsonl", [], "the scores of chrf have no signature"),
        ("same.jsonl", None, [METRIC], "either an old version or a baseline"),
    ):
        with pytest.raises(InputError, match=message):
            gate_file(new, GateOptions(metrics=metrics), old=old, margin=0.5)
    with pytest.raises(InputError, match="unscored"):
        bless_file("bare.jsonl", "baseline.jsonl", CHRF)
    assert not (files / "baseline.jsonl").exists()


def test_dialogues_that_cannot_be_judged_are_refused(folder: Path) -> None:
    dialogues, _ = made_dialogues({"bot": 0.0})
    lost = replace(dialogues[0], id="lost", systems={"nobody": "bot"})
    write("lost.jsonl", [*dialogues, lost], kind="dialogues")
    with pytest.raises(InputError, match="not all of the input can be used: 1 dialogue has no speaker"):
        bless_file("lost.jsonl", "baseline.jsonl", replace(CHRF, new_system="bot", lower_is_better=False))


def test_test_sets_that_differ_are_gated_only_if_asked(files: Path) -> None:
    write("short.jsonl", replies(0.9)[:20], kind="samples")
    write(
        "other.jsonl",
        [Sample(f"x{s.id}", [f"{s.id} ?"], s.response, s.references) for s in replies(0.9, 1)],
        kind="samples",
    )
    for new, message in (("short.jsonl", "20 samples in both"), ("other.jsonl", "share too few ids or contexts")):
        with pytest.raises(InputError, match=rf"the test sets differ: .*{message}.*--allow-unpaired"):
            gate_file(new, CHRF, old="old.jsonl", margin=0.5)
    asked = replace(CHRF, allow_unpaired=True)
    found = gate_file("short.jsonl", asked, old="old.jsonl", margin=0.5)
    assert found.verdicts[0].n == 20
    assert found.comparison.unpaired == {"old": 10, "new": 0}
    assert gate_file("other.jsonl", asked, old="old.jsonl", margin=0.5).comparison.pairing == "none"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (GateOptions(judge="llm_judge()", repeat=["x"]), "--judge cannot be combined with --repeat"),
        (GateOptions(judge="llm_judge()", rated="x"), "--judge cannot be combined with --rated"),
        (GateOptions(by_ratings=True, rated="x"), "--rated and --by-ratings both set the unit of the margin"),
        (GateOptions(by_ratings=True, slices="pass"), "slices cannot be gated by ratings"),
    ],
)
def test_options_that_contradict_each_other(options: GateOptions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gate_file("new.jsonl", options, old="old.jsonl", margin=0.5)
