# SPDX-License-Identifier: Apache-2.0
"""The section on people's preferences."""

from __future__ import annotations

from pathlib import Path

from interloq import Sample, Score, write
from interloq.rank.human_preferences import rank_preferences
from interloq.records import Preference
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.report.sections.preferences import preference_table

PEOPLE = [
    Preference(f"c{i}", ("owl", "parrot"), "owl" if i % 4 else "parrot" if i else "", f"r{i % 3}") for i in range(12)
]


def made(folder: Path, scored: str) -> str:
    samples = [Sample(f"c{i}", "Hi", f"{s} {i}", system=s) for i in range(12) for s in ("owl", "parrot")]
    write("samples.jsonl", samples, kind="samples")
    scores = [Score(f"{scored}{s.id}", "made", float(s.system == "owl"), "", s.system) for s in samples]
    write("scores.jsonl", scores, kind="scores")
    write("preferences.jsonl", PEOPLE, kind="preferences")
    options = ReportOptions(samples="samples.jsonl", preferences=["preferences.jsonl"], n_bootstrap=20)
    report = report_file(["scores.jsonl"], "report.html", options)
    assert "--preferences preferences.jsonl" in report.page.command
    return (folder / "report.html").read_text()


def test_systems_with_their_wins() -> None:
    (ranking,) = rank_preferences(PEOPLE, n_bootstrap=20)
    found = preference_table(ranking, [], {}, {})
    assert found.summary == "12 preferences of 3 raters on 12 items"
    assert [(row.system, row.counts) for row in found.rows] == [("owl", ("9", "1", "2")), ("parrot", ("2", "1", "9"))]
    assert float(found.rows[0].value) == round(ranking.systems[0].strength, 2)
    assert found.rows[0].bar is not None


def test_the_report_shows_preferences_and_metrics(folder: Path) -> None:
    page = made(folder, "")
    assert '<a href="#preferences">Preferences</a>' in page
    assert '<td class="num" data-sort="0.8181818181818182">0.82</td>' in page  # 9 of 11 with a winner


def test_preferences_without_scores_are_shown_alone(folder: Path) -> None:
    assert "No preference has scores of both replies" in made(folder, "another ")
