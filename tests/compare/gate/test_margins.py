"""Margins of single metrics."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import orjson
import pytest

from interloq import InputError, Rating, write
from interloq.agree.meta_file import meta_file
from interloq.agree.meta_options import MetaOptions
from interloq.agree.table import MetaTable
from interloq.compare.compare_options import GateOptions
from interloq.compare.gate.gate import Gate
from interloq.compare.gate.gate_file import gate_file
from interloq.compare.gate.margins import Margins, metric_margins, read_margins
from interloq.data.records.jsonl import to_json
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions
from tests.made_replies import CHRF, METRIC, replies, write_replies

METRICS = ["chrf", "short=bleu(order=2)"]


def test_a_metric_is_named_by_its_label_or_spec_and_the_rest_have_the_plain_number() -> None:
    assert metric_margins(0.1, METRICS) == {"chrf": 0.1, "short=bleu(order=2)": 0.1}
    for name in ("short", "bleu(order=2)", "short=bleu(order=2)"):
        given = read_margins(["0.1", f"{name}=0.02"])
        assert metric_margins(given, METRICS) == {"chrf": 0.1, "short=bleu(order=2)": 0.02}
    assert metric_margins({"": 0.1, "short": 0.02}, METRICS[1:]) == {"short=bleu(order=2)": 0.02}
    assert metric_margins(read_margins(["short=1", "chrf=2"]), METRICS) == {"chrf": 2, "short=bleu(order=2)": 1}


@pytest.mark.parametrize("texts", [["little"], ["bleu(order=2)"], ["1", "2"], ["chrf=1", "chrf=1"], ["chrf="]])
def test_texts_that_are_not_margins(texts: list[str]) -> None:
    with pytest.raises(InputError, match=r"is not a number; write X, or METRIC=X|^two margins for (chrf|all metrics)"):
        read_margins(texts)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"chrf": 0.1}, r"no margin for short.*; add --margin short=bleu\(order=2\)=X, or --margin X for the rest"),
        ({"": 0.1, "chr": 1.0}, "a margin for 'chr', which is not gated; gated: chrf, short="),
        ({"": 0.1, "chrf": -1.0}, "the margin for chrf must be a positive number, got -1.0"),
        ({"": 0.1, "chrf": float("inf")}, "the margin for chrf must be a positive number"),
        ({"short": 1.0, "bleu(order=2)": 2.0, "": 1.0}, "two margins for short=bleu"),
        (0.0, "the margin must be a positive number, got 0.0"),
        (float("nan"), "the margin must be a positive number"),
    ],
)
def test_margins_that_cannot_be_used(given: Margins, why: str) -> None:
    with pytest.raises(InputError, match=why):
        metric_margins(given, METRICS)


@pytest.fixture
def files(folder: Path) -> Path:
    write_replies()
    return folder


def write_table(table: MetaTable) -> None:
    Path("meta.json").write_bytes(orjson.dumps(to_json(asdict(table))))


def test_margins_in_ratings(files: Path) -> None:
    found = gate_file("bad.jsonl", replace(CHRF, rated="old.jsonl"), old="old.jsonl", margin=0.5)
    (verdict,) = found.verdicts
    assert (found.outcome, verdict.scale) == ("regression", "rating")
    assert verdict.gain == pytest.approx(-2.5, abs=0.7)
    score_file("old.jsonl", [METRIC], "rated_scores.jsonl", ScoreOptions(n_bootstrap=0))
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


@pytest.mark.parametrize(
    "options",
    [
        replace(CHRF, rated="rated.jsonl"),
        replace(CHRF, rated="rated.jsonl", rated_scores="scores.jsonl"),
        replace(CHRF, meta="meta.json"),
    ],
)
def test_rated_samples_without_a_score_are_counted_and_too_many_refused(options: GateOptions, files: Path) -> None:
    def gated(bare: int) -> Gate:
        rated = [replace(s, references=()) if int(s.id) < bare else s for s in replies(0.5)]
        write("rated.jsonl", rated, kind="samples")
        score_file("rated.jsonl", [METRIC], "scores.jsonl", ScoreOptions(n_bootstrap=0))
        write_table(meta_file(["scores.jsonl"], MetaOptions(samples="rated.jsonl", n_bootstrap=0))["overall"])
        return gate_file("bad.jsonl", options, old="old.jsonl", margin=0.5)

    unscored = "chrf: 6 of 30 rated samples without a score, not used to convert the margin"
    example = "" if options.meta else ", for example '0' of 'bot' (no references)"
    assert f"{unscored}{example}" in gated(6).comparison.notes
    with pytest.raises(InputError, match=r"chrf scored only 23 of 30 rated samples.*; at least four fifths are needed"):
        gated(7)
    assert not any("without a score" in note for note in gated(0).comparison.notes)


def test_the_stored_table_of_meta_converts_the_margin(files: Path) -> None:
    score_file("old.jsonl", [METRIC], "scores.jsonl", ScoreOptions(n_bootstrap=0))
    found = meta_file(["scores.jsonl"], MetaOptions(samples="old.jsonl", n_bootstrap=0))
    write_table(found["overall"])
    stored = gate_file("bad.jsonl", replace(CHRF, meta="meta.json"), old="old.jsonl", margin=0.5)
    rated = gate_file("bad.jsonl", replace(CHRF, rated="old.jsonl"), old="old.jsonl", margin=0.5)
    assert [v.reason for v in stored.verdicts] == [v.reason for v in rated.verdicts]
    assert "by 30 rated samples)" in stored.verdicts[0].reason
    write_table(replace(found["overall"], unit="dialogue"))
    stored = gate_file("bad.jsonl", replace(CHRF, meta="meta.json"), old="old.jsonl", margin=0.5)
    assert "by 30 rated dialogues)" in stored.verdicts[0].reason
    assert "the margin is in ratings of overall, converted by meta.json" in stored.comparison.notes


def test_other_tables_of_meta_are_refused(files: Path) -> None:
    score_file("old.jsonl", [METRIC], "scores.jsonl", ScoreOptions(n_bootstrap=0))
    table = to_json(asdict(meta_file(["scores.jsonl"], MetaOptions(samples="old.jsonl", n_bootstrap=0))["overall"]))
    (row,) = table["rows"]
    judge = {"name": "chrf(order=6)", "parts": {"model": "another"}}
    for changed, message in (
        ({"aspect": "overall"}, "not the JSON of `interloq meta`: 'signature' is missing; make it again"),
        ({**table, "signature": {"name": "choose", "parts": {}}}, "not the JSON of `interloq meta`: .*'choose'"),
        ({**table, "rows": []}, "no slope of chrf: 'chrf' is missing"),
        ({**table, "rows": [{**row, "slope": None}]}, "no slope of chrf: fewer than 10 rated samples"),
        ({**table, "judges": {}}, "no slope of chrf: scores without a signature"),
        ({**table, "judges": {METRIC: judge}}, "the compared files and meta.json were scored by different versions"),
        ({**table, "aspect": "wit"}, r"meta.json: no table of 'overall'; choose --aspect: wit"),
        ({"tables": [3]}, r"meta.json: not the JSON of `interloq meta`"),
    ):
        (files / "meta.json").write_bytes(orjson.dumps(changed))
        with pytest.raises(InputError, match=message):
            gate_file("bad.jsonl", replace(CHRF, meta="meta.json"), old="old.jsonl", margin=0.5)
