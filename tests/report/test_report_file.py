"""A report from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import Sample, write
from interloq.pipelines.score_file import score_file
from interloq.report.report_file import report_file


@pytest.fixture
def scored(folder: Path, samples: list[Sample]) -> Path:
    write("samples.jsonl", samples, kind="samples")
    score_file("samples.jsonl", ["length"], "scores.jsonl", n_bootstrap=0)
    return folder


@pytest.mark.parametrize(("epoch", "date"), [("", ""), ("86400", "1970-01-02"), ("soon", "")])
def test_a_date_is_shown_only_when_asked_for(
    scored: Path, monkeypatch: pytest.MonkeyPatch, epoch: str, date: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    made = report_file(["scores.jsonl"], "report.html", samples="samples.jsonl", n_bootstrap=0, title="Mine")
    assert (made.page.date, made.page.title) == (date, "Mine")
    assert "<title>Mine" in (scored / "report.html").read_text()


def test_what_was_used_comes_back_with_the_page(scored: Path, samples: list[Sample]) -> None:
    made = report_file(["scores.jsonl"], "report.html", samples="samples.jsonl", n_bootstrap=0, worst=1)
    assert len(made.evidence.samples) == len(made.evidence.scores) == len(samples)
    assert [source.name for source in made.page.sources] == ["scores.jsonl", "samples.jsonl"]
