"""Rows of the sample table, and filters by fields."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from interloq import InputError, Sample
from interloq.cli.main import main
from interloq.report.build import build
from interloq.report.sections import samples as module
from interloq.report.sections.samples import Filter, Places, list_samples, sample_filters, sample_note, sample_row
from tests.report.made_report import many_samples
from tests.report.parsed_html import parse, report

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
    drawn = {point.index for plot in page.scatters for points in plot.groups.values() for point in points}
    assert 0 < len(drawn) < 2500
    assert {i for i, row in enumerate(page.samples) if row[2]} == drawn
    assert "the first 60 characters" in page.sample_note
    assert all(row[2] for row in build(many_samples(50, 1)).samples)


def test_a_long_list_is_thinned_but_keeps_drawn_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 20)
    samples = [Sample(f"{i:03}") for i in range(100)]
    drawn = {sample.key for sample in samples[90:]}
    kept = list_samples(samples, drawn)
    assert len(kept) == 20
    assert drawn <= {sample.key for sample in kept}
    assert list_samples(samples[::-1], drawn) == kept
    assert sample_note(20, 100) == "20 of 100 samples are listed, chosen by a hash of their ids."
    assert sample_note(20, 20) == ""


TOPICS = ["food", "films", "food", "films"]
SAMPLES = [
    Sample(str(i), ["hi " * (i + 1)], "x", system="a", fields={"topic": TOPICS[i]} if i < len(TOPICS) else {})
    for i in range(6)
]


def test_fields_with_several_values_can_be_chosen() -> None:
    topic, length = sample_filters(SAMPLES, None)
    assert (topic.name, topic.values) == ("topic", ("films", "food"))
    assert list(topic.number_of.values()) == [1, 0, 1, 0, None, None]
    assert (length.name, length.values) == ("prompt length", ("long", "medium", "short"))
    assert [length.values[length.number_of[s.key] or 0] for s in SAMPLES[::2]] == ["short", "medium", "long"]
    assert [offered.name for offered in sample_filters(SAMPLES, ["topic"])] == ["topic"]
    assert sample_filters([], ["topic"]) == ()


def test_a_field_that_no_sample_has_is_refused() -> None:
    with pytest.raises(InputError, match="no record has a field 'topics' to slice by; did you mean 'topic'"):
        sample_filters(SAMPLES, ["topics"])


def test_rare_values_of_a_field_with_many_are_chosen_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_VALUES", 2)
    names = ["a", "a", "b", "b", "c", "d"]
    samples = [Sample(str(i), ["hi"], "x", system="a", fields={"user": name}) for i, name in enumerate(names)]
    (user,) = sample_filters(samples, ["user"])
    assert user.values == ("a", "b", "(other)")
    assert list(user.number_of.values()) == [0, 0, 1, 1, 2, 2]


def test_the_page_offers_the_fields_of_the_file(folder: Path) -> None:
    lines = [f'{{"id": "{i}", "response": "x {i}", "system": "a", "mood": "<b>{i % 2}"}}' for i in range(4)]
    (folder / "own.jsonl").write_text("\n".join(lines))
    report(folder, [Sample(str(i), (), f"x {i}", system="a") for i in range(4)])
    arguments = ["report", "scores.jsonl", "--samples", "own.jsonl", "-o", "own.html", "--slice", "mood"]
    assert main([*arguments, "--bootstrap", "0"]) == 0
    page = parse((folder / "own.html").read_text(encoding="utf-8"))
    filter_ = page.one("select", id="filter1")
    assert [option.text for option in filter_.all("option")] == ["all", "<b>0", "<b>1"]
    assert "--slice mood" in page.one("footer").text
    assert main([*arguments, "--slice", "moods"]) == 2
