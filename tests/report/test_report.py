"""The modules of `interloq.report`: build, marks, report file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interloq import InputError, Rating, Sample, Score, write
from interloq.reliability.weak_references import metric_name
from interloq.report.build import columns
from interloq.report.marks import mark_systems, name_metric, name_metrics
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.score.score_file import score_file
from interloq.score.score_options import ScoreOptions


def test_columns_leave_out_unscored_samples_and_refuse_contradictions() -> None:
    scores = [Score("1", "m", 0.5), Score("2", "m", None), Score("1", "k", 1.0), Score("1", "m", 0.5)]
    assert columns(scores) == {"m": {("1", ""): 0.5}, "k": {("1", ""): 1.0}}
    with pytest.raises(InputError, match=r"m gives '2' two different scores: None and 0\.1"):
        columns([*scores, Score("2", "m", 0.1)])


@given(st.text())
def test_a_spec_is_only_cut_never_changed(spec: str) -> None:
    assert name_metric(spec, 1).spec == spec


def test_a_spec_may_wrap_at_brackets_and_commas() -> None:
    name = name_metric("ruber(referenced=bleu(order=2),k=1)", 3)
    assert (name.number, name.head, name.short) == (3, "ruber", "3 ruber")
    assert name.rest == ("(", "referenced=bleu(", "order=2),", "k=1)")
    assert name_metric("mine=bleu(order=2)", 1).head == "mine"
    assert [name.short for name in name_metrics(["length", "bleu"]).values()] == ["1 length", "2 bleu"]


def test_64_systems_look_different() -> None:
    marks = mark_systems({f"s{i:02}" for i in range(63)})
    assert marks[""] is marks["(none)"]
    assert len({(mark.colour, mark.shape) for mark in marks.values()}) == 64


QUICK = ReportOptions(samples="samples.jsonl", n_bootstrap=0)


@pytest.fixture
def scored(folder: Path, samples: list[Sample]) -> Path:
    write("samples.jsonl", samples, kind="samples")
    score_file("samples.jsonl", ["length"], "scores.jsonl", ScoreOptions(n_bootstrap=0))
    return folder


@pytest.mark.parametrize(("epoch", "date"), [("", ""), ("86400", "1970-01-02"), ("soon", "")])
def test_a_date_is_shown_only_when_asked_for(
    scored: Path, monkeypatch: pytest.MonkeyPatch, epoch: str, date: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    made = report_file(["scores.jsonl"], "report.html", replace(QUICK, title="Mine"))
    assert (made.page.date, made.page.title) == (date, "Mine")
    assert "<title>Mine" in (scored / "report.html").read_text()


def test_what_was_used_comes_back_with_the_page(scored: Path, samples: list[Sample]) -> None:
    made = report_file(["scores.jsonl"], "report.html", replace(QUICK, worst=1))
    assert len(made.evidence.samples) == len(made.evidence.scores) == len(samples)
    assert [source.name for source in made.page.sources] == ["scores.jsonl", "samples.jsonl"]


def test_samples_with_weak_references_are_flagged(scored: Path, samples: list[Sample]) -> None:
    name = metric_name("bleu_star")
    weak = [Score(s.id, name, 0.05, "", s.system, {"minimum": 0.1, "needed": None}) for s in samples[:2]]
    write("predicted.jsonl", weak, kind="scores", metric=name)
    made = report_file(["scores.jsonl", "predicted.jsonl"], "report.html", QUICK)
    (notice,) = [notice.text for notice in made.page.notices if "too weak" in notice.text]
    assert notice.startswith("References too weak to trust bleu_star: 2 of 2 samples")
    assert name not in str(made.page.scores)
    assert made.page.weak == {s.key: 0.05 for s in samples[:2]}
    assert "too weak to trust: predicted reliability 0.050" in (scored / "report.html").read_text()


def test_only_ratings_by_people_in_one_role(folder: Path) -> None:
    roles = [Rating(1.0, "ann", role="interlocutor"), Rating(5.0, "bob", role="outsider")]
    write("samples.jsonl", [Sample(f"s{i}", "c", "r", ratings=roles) for i in range(4)], kind="samples")
    write("scores.jsonl", [Score(f"s{i}", "length", float(i)) for i in range(4)], kind="scores")
    report = report_file(["scores.jsonl"], "report.html", replace(QUICK, role="outsider"))
    assert set(report.evidence.judgments.values()) == {5.0}
    assert {r.role for sample in report.evidence.samples for r in sample.ratings} == {"outsider"}
    assert "--role outsider" in report.page.command
