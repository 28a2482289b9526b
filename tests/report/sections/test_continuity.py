"""The section on predicted replies."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import orjson

from interloq import write
from interloq.agree.labels.continuity import evaluate_continuity
from interloq.agree.labels.continuity_table import ContinuityTable
from interloq.data.records.jsonl import to_json
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.report.sections.continuity import continuity
from tests.made_continuity import informed, part

TEST = part("t", 40, seed=2)


def table(groups: int = 2) -> ContinuityTable:
    dev = part("d", 40, seed=1)
    scores = [*informed(TEST, "mine=dcp(model='x')"), *informed(dev, "mine=dcp(model='x')")]
    return evaluate_continuity(scores, TEST, train=part("a", 200), dev=dev, groups=groups, n_bootstrap=10)


def test_every_row_is_shown_and_one_line_per_metric_drawn() -> None:
    found, given = continuity(table()), table()
    assert [row.metric for row in found.rows][2:4] == ["mine", "mine"]
    assert found.columns == ("Accuracy", "Macro-F1", "AUC", "ECE", "Brier")
    assert float(found.rows[2].cells[0].value) == round(given.rows[2].measures["accuracy"].value, 3)
    accuracy, f1, auc = found.plots
    assert [plot.title for plot in (accuracy, f1, auc)] == [
        "Accuracy by training size", "Macro-F1 by training size", "AUC by training size",
    ]  # fmt: skip
    assert [line.mark.system for line in f1.lines] == [
        "global_majority, half", "mine, half", "private_majority, half", "turn_index, half",
    ]  # fmt: skip
    assert all(len(line.dots) == len(given.groups) for line in f1.lines)
    assert len(f1.rows) == len(given.rows)


def test_one_group_is_not_drawn() -> None:
    assert continuity(table(groups=1)).plots == ()


def test_the_report_shows_a_table_that_meta_printed(folder: Path) -> None:
    (folder / "replies.json").write_bytes(orjson.dumps(to_json(asdict(table()))))
    write("test.jsonl", TEST, kind="samples")
    write("scores.jsonl", informed(TEST), kind="scores")
    options = ReportOptions(samples="test.jsonl", continuity=["replies.json"], aspect="continued", n_bootstrap=0)
    made = report_file(["scores.jsonl"], "report.html", options)
    assert made.page.continuity == (continuity(table()),)
    assert "--continuity replies.json" in made.page.command
    page = (folder / "report.html").read_text()
    assert '<a href="#continuity">Predicted replies</a>' in page
    assert "<code>private_majority</code>" in page
