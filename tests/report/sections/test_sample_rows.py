"""Rows of the sample table."""

from __future__ import annotations

import sys

import pytest

from interloq import Sample
from interloq.report.build import build
from interloq.report.filters import Filter
from interloq.report.sections import sample_rows
from interloq.report.sections.sample_rows import Places, listed, sample_note, sample_row
from tests.report.made_report import many_samples

SAMPLE = Sample("1", ["first", "last " * 50], "reply " * 50)


def test_a_row_has_texts_cut_and_numbers_short() -> None:
    columns: list[dict[tuple[str, str], float]] = [{SAMPLE.key: 0.123456}, {}, {SAMPLE.key: sys.float_info.max}]
    judged, topic = {SAMPLE.key: 10 / 3}, Filter("topic", ("food",), {SAMPLE.key: 0})
    places = Places({SAMPLE.key: "a", ("2", ""): "a"}, [topic])
    id, system, last, reply, *numbers = sample_row(SAMPLE, [judged, *columns], places, is_whole=True)
    assert (id, system) == ("1", "(none)")
    assert [last, reply] == ["last " * 31 + "last…", "reply " * 39 + "reply…"]
    assert numbers == [3.33, 0.123, None, sys.float_info.max, 0, 0]
    short = sample_row(SAMPLE, [{}], Places({SAMPLE.key: "a"}, []), is_whole=False)
    assert short == ("1", "(none)", "", "reply " * 9 + "reply…", None, None)  # no other sample has this context


def test_only_drawn_samples_of_many_are_whole() -> None:
    page = build(many_samples(2500, 20))
    drawn = {point.index for plot in page.scatters for group in plot.groups for point in group.points}
    assert 0 < len(drawn) < 2500
    assert {i for i, row in enumerate(page.samples) if row[2]} == drawn
    assert "the first 60 characters" in page.sample_note
    assert all(row[2] for row in build(many_samples(50, 1)).samples)


def test_a_long_list_is_thinned_but_keeps_drawn_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_rows, "MOST", 20)
    samples = [Sample(f"{i:03}") for i in range(100)]
    drawn = {sample.key for sample in samples[90:]}
    kept = listed(samples, drawn)
    assert len(kept) == 20
    assert drawn <= {sample.key for sample in kept}
    assert listed(samples[::-1], drawn) == kept
    assert sample_note(20, 100) == "20 of 100 samples are listed, chosen by a hash of their ids."
    assert sample_note(20, 20) == ""
