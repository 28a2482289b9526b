"""The modules of `interloq.report.sections`: agreement, decisions, scores, side by side."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from math import nan
from pathlib import Path
from statistics import fmean

import orjson
import pytest
from scipy.stats import spearmanr

from interloq import InputError, Sample, Score, Turn, write
from interloq.agree.agreement import meta_evaluate
from interloq.agree.dialogue_scores import dialogue_scores
from interloq.cli.main import main
from interloq.compare.compare import compare
from interloq.compare.gate.gate import Outcome, gate
from interloq.data.records.jsonl import to_json
from interloq.metrics.metric import Array
from interloq.report.build import Evidence
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.report.sections.decisions import decision
from interloq.report.sections.scores import SystemScore, complete_results, read_results
from interloq.report.sections.side_by_side import MOST, find_contrasts, find_differing_dialogues, name_contexts, widest
from interloq.report.text import interval, number
from tests.made_dialogues import made_dialogues, write_dialogues
from tests.made_users import judged, scores
from tests.made_versions import drawn, version
from tests.report.made_report import mean_rating, read_scores, values_of
from tests.report.parsed_html import parse, rendered, report


def test_the_agreement_table_shows_what_meta_evaluation_says(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    table = meta_evaluate(read_scores(folder), samples, n_bootstrap=50)
    rows = {row.metric: row for row in table.rows}
    shown = page.one("table", cls="agreement")
    for body_row in shown.one("tbody", cls="rows").all("tr"):
        row = rows[re.sub(r"^\d", "", body_row.one("code").text)]
        cells = body_row.all("span", cls="coefficient")
        for cell, coefficient in zip(cells, ("pearson", "spearman", "kendall"), strict=True):
            estimate = row.with_mean[coefficient]
            assert cell.one("b").text == number(estimate.value)
            assert cell.one("span", cls="ci").text == interval(estimate.ci)
    assert table.human is not None
    people = shown.one("tbody", cls="people").all("tr")
    assert people[1].all("b")[1].text == number(table.human.pairwise["spearman"].mean)
    assert number(table.human.alpha.value) in page.one(id="agreement").text
    comparisons = page.one("details", cls="comparisons").rows()
    assert len(comparisons) == len(table.comparisons) == 3
    assert page.one(id="agreement").all("code")[-1].text == str(table.signature)


def test_a_coefficient_of_your_own_is_shown(folder: Path, samples: list[Sample]) -> None:
    report(folder, samples)  # writes the score file
    table = meta_evaluate(read_scores(folder), samples, coefficients={"mine": corr}, n_bootstrap=0)
    judgments = {sample.key: mean_rating(sample) for sample in samples}
    page = rendered(Evidence(samples, read_scores(folder), judgments=judgments, table=table))
    shown = page.one("table", cls="agreement")
    assert [head.text for head in shown.one("thead").all("th")][1] == "mine"
    assert [value.text for value in shown.one("tbody", cls="rows").all("b")][1::2] == ["0.250"] * len(table.rows)


def corr(x: Array, y: Array) -> float:
    return 0.25


def test_the_split_between_and_within_users_is_shown_and_warned_about(folder: Path) -> None:
    rated, means, _ = judged()
    own = [replace(s, ratings=(replace(s.ratings[0], aspect="overall"),)) for s in rated]
    write("samples.jsonl", own, kind="samples")
    write("scores.jsonl", scores(own, {"learned": means}), kind="scores")
    report_file(["scores.jsonl"], "report.html", ReportOptions(samples="samples.jsonl", n_bootstrap=50))
    page = parse((folder / "report.html").read_text())
    split = page.one("table", cls="estimates").one("tbody").all("tr")[0]
    _, coefficient, _, between, *rest = [cell.text for cell in split.all("td")]
    assert coefficient == "Pearson r"
    assert between.startswith("1.000")
    assert rest == ["n/a", "n/a", "20 (0 averaged)"]
    warning = "learned orders users, not replies: it gives every reply to a user the same score"
    assert warning in [notice.text.strip() for notice in page.all("div", cls="notice")]
    assert "Between users and within them" in page.one(id="agreement").text


def test_the_heat_map_is_scipys_spearman(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    heat = page.one("table", cls="heat")
    assert [cell.text for cell in heat.one("thead").all("th")] == ["1", "2", "people"]
    lengths = values_of(read_scores(folder), "length")
    rho = spearmanr([lengths[s.id] for s in samples], [mean_rating(s) for s in samples]).statistic
    cells = [[cell.text for cell in row.all("td")] for row in heat.one("tbody").all("tr")]
    assert cells[1][2] == cells[2][1] == number(float(rho), 2)
    assert [cells[i][i] for i in range(3)] == ["1.00"] * 3
    shade = heat.one("tbody").all("tr")[1].all("td")[2].attributes["class"]
    assert shade == f"{'above' if rho >= 0 else 'below'}{abs(round(rho * 10))}"


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


TOLD = {"metric": "m", "system": "a", "value": 0.5, "ci": [0.4, 0.6], "n": 3, "unscored": 1, "signature": "m|seed:0"}


def test_results_of_a_header() -> None:
    (result,) = read_results({"results": [TOLD]}, "scores.jsonl")
    assert result == SystemScore("m", "a", 0.5, (0.4, 0.6), 3, 1, "m|seed:0")
    assert read_results({"kind": "scores"}, "scores.jsonl") == []
    (empty,) = read_results({"results": [TOLD | {"value": None, "ci": None, "n": 0}]}, "scores.jsonl")
    assert math.isnan(empty.value)
    assert empty.ci is None


@pytest.mark.parametrize(
    "bad", [{"metric": "m"}, TOLD | {"ci": [1]}, TOLD | {"n": "many"}, TOLD | {"signature": 5}, "text", None]
)
def test_a_header_that_cannot_be_read_says_where(bad: object) -> None:
    with pytest.raises(InputError, match=r"^s\.jsonl:1: the results in the header cannot be read .*; score again"):
        read_results({"results": [bad]}, "s.jsonl")


def test_what_no_header_tells_is_the_mean_of_sample_scores() -> None:
    scores = [
        Score("1", "m", 0.25, system="a"),
        Score("2", "m", 0.5, system="b"),
        Score("3", "m", None, "no references", "b"),
    ]
    told = SystemScore("m", "a", 0.3, (0.2, 0.4), 1, 0, "m|seed:0")
    found = {result.system: result for result in complete_results([told], scores)}
    assert found["a"] is told
    assert found["b"] == SystemScore("m", "b", 0.5, None, 1, 1, is_mean=True)
    assert found[""] == SystemScore("m", "", fmean([0.25, 0.5]), None, 2, 1, is_mean=True)


def test_headers_that_differ_give_way_to_the_mean() -> None:
    scores = [Score("1", "m", 0.25, system="a"), Score("2", "m", 0.5, system="a")]
    halves = [SystemScore("m", "a", value, None, 1, 0) for value in (0.25, 0.5)]
    assert {r.value for r in complete_results(halves, scores)} == {0.375}
    assert all(r.is_mean for r in complete_results(halves, scores))
    same = [SystemScore("m", "a", 0.4, None, 2, 0)] * 2
    assert SystemScore("m", "a", 0.4, None, 2, 0) in complete_results(same, scores)


def test_the_same_score_twice_counts_once() -> None:
    scores = [Score("1", "m", 0.0, system="a"), Score("2", "m", 0.6, system="a")]
    (mean,) = {r.value for r in complete_results([], [*scores, scores[1]])}
    assert mean == pytest.approx(0.3)


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
    first, second, third, fourth = name_contexts(samples).values()
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
    found = find_contrasts(samples, name_contexts(samples), {}, columns)
    assert [item.context[-1].text for item in found] == [f"hi {i}" for i in range(MOST + 1, 1, -1)]
    assert found[0].context[0].speaker == ""  # systems share it
    assert [sample.id for sample in found[0].samples] == ["6a", "6b"]
    judged = {s.key: 5.0 if s.id == "1a" else 2.0 for s in samples}
    (item,) = find_contrasts(samples, name_contexts(samples), judged, columns)
    assert [sample.id for sample in item.samples] == ["1a", "1b"]
    assert find_contrasts(samples, name_contexts(samples), {}, {}) == ()


def test_repeated_replies_of_a_system_are_counted_but_not_all_shown() -> None:
    samples = [Sample(f"{i}", ["hi"], "x", system="ab"[i > 6]) for i in range(8)]
    (item,) = find_contrasts(samples, name_contexts(samples), {}, {"chrf": {s.key: float(s.id) for s in samples}})
    assert [sample.id for sample in item.samples] == ["0", "1", "2", "7"]
    assert item.omitted == 4


def test_dialogues_on_one_occasion_are_shown_together(folder: Path) -> None:
    dialogues, scores = made_dialogues({"low": 0.0, "high": 3.0})
    paths = write_dialogues(folder, dialogues, scores)
    command = ["report", paths[0], "--samples", paths[2], "--dialogues", paths[1], "-o", "r.html", "--read", "1"]
    assert main([*command, "--bootstrap", "0"]) == 0
    (rows,) = find_differing_dialogues(dialogue_scores(scores, dialogues), 1)
    section = parse((folder / "r.html").read_text(encoding="utf-8")).one("section", id="side-by-side")
    (occasion,) = section.all("div", cls="columns")
    assert [card.text for card in occasion.all("span", cls="id")] == [row.dialogue for row in rows]
    assert {row.system for row in rows} == {"low", "high"}
    assert len({row.dialogue.partition("~")[2] for row in rows}) == 1
