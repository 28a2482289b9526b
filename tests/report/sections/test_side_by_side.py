"""Replies to one context, and dialogues on one occasion, side by side."""

from __future__ import annotations

from math import nan
from pathlib import Path

from interloq import Sample, Turn
from interloq.agree.dialogue_scores import dialogue_scores
from interloq.cli.main import main
from interloq.report.sections.side_by_side import MOST, contexts, contrasts, differing, widest
from tests.made_dialogues import made_dialogues, write_dialogues
from tests.report.parsed_html import parse


def test_the_widest_groups_come_first() -> None:
    groups = {
        "small": [("a", 1.0), ("b", 2.0)],
        "wide": [("a", 5.0), ("b", 1.0), ("c", nan)],
        "equal": [("a", 1.0), ("b", 1.0)],
        "one system": [("a", 0.0), ("a", 9.0)],
        "unscored": [("a", nan), ("b", nan)],
    }
    assert widest(groups, 5) == ["wide", "small"]
    assert widest(groups, 1) == ["wide"]


def test_samples_share_a_context_or_else_an_id() -> None:
    samples = [
        Sample("1", ["hi"], "x", system="a"),
        Sample("2", ["hi"], "y", system="b"),
        Sample("3", (), "x", system="a"),
        Sample("3", (), "y", system="b"),
    ]
    first, second, third, fourth = contexts(samples).values()
    assert first == second != third == fourth


def test_replies_are_chosen_by_judgments_or_else_by_a_metric_with_a_direction() -> None:
    samples = [
        Sample(f"{i}{system}", [Turn("mine", system), Turn(f"hi {i}", "p")], f"{system} {i}", system=system)
        for i in range(MOST + 2)
        for system in "ab"
    ]
    columns = {
        "length": {s.key: 9.0 * (s.id == "0b") for s in samples},
        "chrf": {s.key: float(s.id[0]) * (s.system == "b") for s in samples},
    }
    found = contrasts(samples, contexts(samples), {}, columns)
    assert [item.context[-1].text for item in found] == [f"hi {i}" for i in range(MOST + 1, 1, -1)]
    assert found[0].context[0].speaker == ""  # systems share it
    assert [sample.id for sample in found[0].samples] == ["6a", "6b"]
    judged = {s.key: 5.0 if s.id == "1a" else 2.0 for s in samples}
    (item,) = contrasts(samples, contexts(samples), judged, columns)
    assert [sample.id for sample in item.samples] == ["1a", "1b"]
    assert contrasts(samples, contexts(samples), {}, {}) == ()


def test_repeated_replies_of_a_system_are_counted_but_not_all_shown() -> None:
    samples = [Sample(f"{i}", ["hi"], "x", system="ab"[i > 6]) for i in range(8)]
    (item,) = contrasts(samples, contexts(samples), {}, {"chrf": {s.key: float(s.id) for s in samples}})
    assert [sample.id for sample in item.samples] == ["0", "1", "2", "7"]
    assert item.omitted == 4


def test_dialogues_on_one_occasion_are_shown_together(folder: Path) -> None:
    dialogues, scores = made_dialogues({"low": 0.0, "high": 3.0})
    paths = write_dialogues(folder, dialogues, scores)
    command = ["report", paths[0], "--samples", paths[2], "--dialogues", paths[1], "-o", "r.html", "--read", "1"]
    assert main([*command, "--bootstrap", "0"]) == 0
    (rows,) = differing(dialogue_scores(scores, dialogues), 1)
    section = parse((folder / "r.html").read_text(encoding="utf-8")).one("section", id="side-by-side")
    (occasion,) = section.all("div", cls="columns")
    assert [card.text for card in occasion.all("span", cls="id")] == [row.dialogue for row in rows]
    assert {row.system for row in rows} == {"low", "high"}
    assert len({row.dialogue.partition("~")[2] for row in rows}) == 1
