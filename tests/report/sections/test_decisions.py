"""Verdicts in the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from interloq import Sample
from interloq.compare.compare import compare
from interloq.compare.gate.gate import Outcome, gate
from interloq.data.records.jsonl import to_json
from interloq.report.sections.decisions import decision
from tests.made_versions import drawn, version
from tests.report.parsed_html import parse, report

WORSE = compare(version("june", drawn()), version("<b>july", drawn(-0.2, seed=2)))
EQUAL = compare(version("june", drawn()), version("july", drawn(seed=2)))
BETTER = compare(version("june", drawn()), version("july", drawn(0.2, seed=2)))


@pytest.mark.parametrize(
    ("outcome", "tone", "words"),
    [
        ("pass", "good", "Pass: <b>july is not worse than june by more than the margin."),
        ("regression", "bad", "Regression: <b>july is worse than june by more than the margin."),
        ("undecided", "open", "Undecided: it is open whether <b>july is worse than june"),
    ],
)
def test_a_gate_is_said_in_words_with_the_metrics_that_decided_it(outcome: Outcome, tone: str, words: str) -> None:
    found = gate(WORSE, 0.05)
    (verdict,) = found.verdicts
    other = replace(verdict, metric="bleu", outcome="pass" if outcome != "pass" else "regression")
    shown = decision(replace(found, outcome=outcome, verdicts=(other, replace(verdict, outcome=outcome))))
    assert shown.tone == tone
    assert f"{shown.verdict}: {shown.sentence}".startswith(words)
    (reason,) = shown.reasons
    assert reason.startswith("chrf: gain -0.19")
    assert shown.tables[0].title == f"gate: {outcome}"


def test_a_comparison_is_said_in_words() -> None:
    better, worse, same = map(decision, (BETTER, WORSE, EQUAL))
    assert (better.tone, better.verdict, better.sentence) == ("good", "Better", "july is better than june by chrf.")
    assert (worse.tone, worse.sentence) == ("bad", "<b>july is worse than june by chrf.")
    assert (same.tone, same.verdict) == ("open", "No significant difference")
    assert "not shown; a true difference of 0.0" in same.reasons[0]
    (change,) = WORSE.overall()
    mixed = replace(BETTER, changes=(*BETTER.changes, replace(change, metric="a=nist")))
    assert decision(mixed).sentence == "compared with june, july is better by chrf and worse by a."
    adjusted = replace(WORSE, changes=(replace(change, p_adjusted=0.096),))
    assert ", not shown after adjustment for all tests (p = .096); a true" in decision(adjusted).reasons[0]
    untested = replace(WORSE, changes=(replace(change, p=None, p_adjusted=None),))
    assert ", not shown; a true" in decision(untested).reasons[0]
    neither = replace(WORSE, changes=(replace(change, direction="neither"),))
    assert decision(neither).reasons[0].endswith("changed (neither direction is better)")
    many = replace(WORSE, changes=tuple(replace(change, metric=f"m{i}") for i in range(7)))
    assert decision(many).reasons[-1] == "and 2 more"


def test_verdicts_come_first_and_old_and_new_replies_stand_side_by_side(folder: Path, samples: list[Sample]) -> None:
    for name, found in (("gate", gate(WORSE, 0.05)), ("compare", BETTER)):
        (folder / f"{name}.json").write_bytes(orjson.dumps(to_json(found.facts())))
    page = parse(report(folder, samples, "--comparison", "gate.json", "--comparison", "compare.json"))
    first, second = page.one("header", cls="masthead").one("div", cls="summary").all("p", cls="sentence")
    assert first.text == "Regression: <b>july is worse than june by more than the margin."
    assert second.text == "Better: july is better than june by chrf."
    section = page.one("section", id="comparison")
    lost = WORSE.worse[0]
    card = section.all("article", cls="card")[0]
    assert [side.text for side in card.one("div", cls="beside").all("div", cls="said")] == [
        lost.old_text,
        lost.new_text,
    ]
    assert lost.prompt in card.text
    assert [row[0] for row in section.rows()].count("chrf") == 3  # the gate, and two comparisons
    assert "40 samples paired by id" in page.one("ul", id="notes1").text
    assert page.one("div", cls="bad").one("a").text == "2 notes on the data"
    assert "--comparison gate.json --comparison compare.json" in page.one("footer").text
    assert str(WORSE.signature) in page.one("footer").text
