"""Verdicts from files, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from interloq import InputError, Sample, Score, write
from interloq.compare.compare_file import compare_file
from interloq.compare.compare_options import CompareOptions, GateOptions
from interloq.compare.gate.gate_file import NAMED, bless_file, gate_file, read_baseline, write_baseline
from interloq.compare.version_files import Versions
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from interloq.signature import Signature
from tests.made_dialogues import made_dialogues, write_dialogues
from tests.made_replies import CHRF, METRIC, replies, write_replies
from tests.made_versions import drawn, version


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
        score_file(f"{name}.jsonl", [METRIC], f"{name}_scores.jsonl", ScoreOptions(n_bootstrap=0))
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
    score_file("old.jsonl", [METRIC], "scores.jsonl", ScoreOptions(n_bootstrap=0))
    bless_file("old.jsonl", "baseline.jsonl", CHRF)
    for found in (
        gate_file("old.jsonl", CHRF, old="old.jsonl", margin=0.5),
        gate_file("scores.jsonl", old="scores.jsonl", margin=0.5),
        gate_file("old.jsonl", baseline="baseline.jsonl", margin=0.5),
    ):
        assert found.exit_code == 4
        assert "the same replies" in found.verdicts[0].reason
    write("other.jsonl", replies(0.9, 5), kind="samples")
    score_file("other.jsonl", [METRIC], "other_scores.jsonl", ScoreOptions(n_bootstrap=0))
    assert not gate_file("other_scores.jsonl", old="scores.jsonl", margin=0.5).comparison.same_replies


# ---- baselines -------------------------------------------------------------------------------------------------------

JUDGES = {METRIC: Signature.of(METRIC, {"tokenizer": "x"})}
FIRST = '{"kind": "baseline", "schema": 1, "name": "x", "unit": "sample"}'


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = version("june", [*drawn(n=3), math.nan], ratings=[4.0], topics=["food"], dialogue=2)
    path = tmp_path / "baseline.jsonl"
    write_baseline(path, made, Versions({"new": made}, JUDGES, {"partners": "p"}))
    found = read_baseline(path)
    assert repr(found.versions["old"]) == repr(made)
    assert found.judges == JUDGES
    assert found.origin == {"partners": "p"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "1"}', "not a baseline file"),
        (f'{FIRST}\n{{"id": "1"}}', "'values' is missing"),
        (f'{FIRST}\n{{"id', "cannot be read"),
        (FIRST, "no units"),
        ('{"kind": "baseline", "schema": 1}\n', "'name' is missing"),
        (f'{FIRST}\n{{"id": "1", "values": {{}}, "keys": {{}}, "rating": 1e308}}', "rating must be finite"),
        (f'{FIRST}\n{{"id": "1", "values": {{"m": "nan"}}, "keys": {{}}}}', "value must be a number"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "baseline.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        read_baseline(tmp_path / "baseline.jsonl")


def test_a_version_without_units_is_no_baseline(tmp_path: Path) -> None:
    made = replace(version("june", [1.0]), units=())
    write_baseline(tmp_path / "b.jsonl", made, Versions({"new": made}, JUDGES, {}))
    with pytest.raises(InputError, match="no units"):
        read_baseline(tmp_path / "b.jsonl")


def test_dialogues_of_earlier_baselines_were_read_from_ids_and_are_not_used(tmp_path: Path) -> None:
    made, path = version("june", [1.0, 2.0], dialogue=2), tmp_path / "b.jsonl"
    write_baseline(path, made, Versions({"new": made}, JUDGES, {}))
    assert {unit.dialogue for unit in read_baseline(path).versions["old"].units} == {"d0"}
    path.write_text(path.read_text().replace(f',"{NAMED}":true', ""))
    assert {unit.dialogue for unit in read_baseline(path).versions["old"].units} == {""}


# ---- refusals --------------------------------------------------------------------------------------------------------


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
    score_file("old.jsonl", [METRIC], "old_scores.jsonl", ScoreOptions(n_bootstrap=0))
    (files / "broken.jsonl").write_bytes((files / "same.jsonl").read_bytes() + b'{"broken\n')
    for new, old, metrics, message in (
        ("bare.jsonl", "old.jsonl", [METRIC], r"left 1 sample of the new version unscored, .*'3' \(no references\)"),
        ("short.jsonl", "old.jsonl", [METRIC], "the test sets differ: 20 samples in both, 10 only in the old version"),
        ("broken.jsonl", "old.jsonl", [METRIC], r"broken.jsonl:32: not valid JSON"),
        ("same.jsonl", "old.jsonl", ["length"], "cannot gate by length: neither a high .* or add --higher-is-better"),
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
