"""Filters of samples by their fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError, Sample
from interloq.cli.main import main
from interloq.report import filters as module
from interloq.report.filters import filters
from tests.report.parsed_html import parse, report

TOPICS = ["food", "films", "food", "films"]
SAMPLES = [
    Sample(str(i), ["hi " * (i + 1)], "x", system="a", fields={"topic": TOPICS[i]} if i < len(TOPICS) else {})
    for i in range(6)
]


def test_fields_with_several_values_can_be_chosen() -> None:
    topic, length = filters(SAMPLES, None)
    assert (topic.name, topic.values) == ("topic", ("films", "food"))
    assert list(topic.number_of.values()) == [1, 0, 1, 0, None, None]
    assert (length.name, length.values) == ("prompt length", ("long", "medium", "short"))
    assert [length.values[length.number_of[s.key] or 0] for s in SAMPLES[::2]] == ["short", "medium", "long"]
    assert [found.name for found in filters(SAMPLES, ["topic"])] == ["topic"]
    assert filters([], ["topic"]) == ()


def test_a_field_that_no_sample_has_is_refused() -> None:
    with pytest.raises(InputError, match="no record has a field 'topics' to slice by; did you mean 'topic'"):
        filters(SAMPLES, ["topics"])


def test_rare_values_of_a_field_with_many_are_chosen_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    names = ["a", "a", "b", "b", "c", "d"]
    samples = [Sample(str(i), ["hi"], "x", system="a", fields={"user": name}) for i, name in enumerate(names)]
    (found,) = filters(samples, ["user"])
    assert found.values == ("a", "b", "(other)")
    assert list(found.number_of.values()) == [0, 0, 1, 1, 2, 2]


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
