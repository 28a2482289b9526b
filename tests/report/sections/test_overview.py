"""The overview: which system is marked, and what led."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from interloq import Sample, Score
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import MetaTable
from interloq.report.sections.overview import Overview, mean_judgments, overview, winner
from interloq.report.sections.scores import SystemScore
from interloq.statistics.estimate import Estimate
from tests.report.parsed_html import parse, report

HIGH, LOW, NEAR = (
    Estimate(0.9, 100, (0.8, 1.0)),
    Estimate(0.5, 100, (0.4, 0.6)),
    Estimate(0.75, 100, (0.65, 0.85)),
)


@pytest.mark.parametrize(
    ("column", "lower", "expected"),
    [
        ({"a": HIGH, "b": LOW}, False, "a"),
        ({"a": HIGH, "b": LOW}, True, "b"),
        ({"a": HIGH, "b": LOW, "c": NEAR}, False, ""),
        ({"a": HIGH, "b": LOW, "c": NEAR}, True, "b"),
        ({"a": HIGH, "b": replace(LOW, n=29)}, False, ""),
        ({"a": HIGH, "b": replace(LOW, ci=None)}, False, ""),
        ({"a": HIGH, "b": replace(LOW, ci=(0.5, 0.5))}, False, ""),
        ({"a": HIGH, "b": Estimate(math.nan, 0)}, False, ""),
        ({"a": HIGH}, False, ""),
        ({}, False, ""),
    ],
)
def test_the_best_is_marked_only_if_no_other_interval_overlaps(
    column: dict[str, Estimate], lower: bool, expected: str
) -> None:
    assert winner(column, lower=lower) == expected


def test_mean_judgments_have_t_intervals_over_dialogues() -> None:
    values = {(f"d{i}#{turn}", "a"): float(i + turn) for i in range(5) for turn in (1, 3)}
    samples = [Sample(f"d{i}#{turn}", system="a", dialogue=f"d{i}") for i in range(5) for turn in (1, 3)]
    others = [Sample("x", system="b"), Sample("y")]
    found = mean_judgments({**values, ("x", "b"): 2.0, ("y", ""): 1.0}, [*samples, *others])
    whole = np.array([i + 2.0 for i in range(5)])  # each dialogue's mean, as all have two turns
    low, high = stats.t.interval(0.95, 4, whole.mean(), stats.sem(whole))
    assert found["a"].ci == pytest.approx((low, high))
    assert found["a"].n == 10
    assert found["b"] == Estimate(2.0, 1)
    assert found["(none)"].value == 1.0
    assert set(mean_judgments({("1", ""): 1.0, ("2", ""): 3.0}, [Sample("1"), Sample("2")])) == {""}


def _rated(n: int = 80) -> list[Sample]:
    """Two systems; two raters of each sample, who mostly agree."""
    quality = [(i * 7) % 9 + (2 if i % 2 else 0) for i in range(n)]
    return [Sample(str(i), ["hi"], "x " * (q + 1), (), "ab"[i % 2], [q, q + i % 3]) for i, q in enumerate(quality)]


def _table(samples: list[Sample], **columns: list[float]) -> MetaTable:
    scores = [Score(s.id, m, v, system=s.system) for m, vs in columns.items() for s, v in zip(samples, vs, strict=True)]
    return meta_evaluate(scores, samples, n_bootstrap=20, n_permutations=200, lower_is_better=False)


def _overview(table: MetaTable | None, samples: list[Sample], results: list[SystemScore]) -> Overview:
    metrics = dict.fromkeys([*(r.metric for r in results), *(row.metric for row in (table.rows if table else ()))])
    judged = {s.key: sum(r.value or 0 for r in s.ratings) / len(s.ratings) for s in samples if s.ratings}
    return overview(results, mean_judgments(judged, samples), table, metrics, "people", None)


def test_what_led_is_named_with_its_rivals_and_the_ceiling() -> None:
    samples = _rated()
    true = [float(sum(r.value or 0 for r in s.ratings)) for s in samples]
    noise = [float((i * 37) % 80) for i in range(80)]
    table = _table(samples, good=true, same=[2 * v for v in true], noise=noise)
    found = _overview(table, samples, [])
    assert found.findings[0].startswith("Highest mean rating: b, ")
    assert found.findings[1].startswith("Best agreement with people: good, Spearman ρ 1.00 [")
    assert found.findings[1].endswith("; not distinguishable from same.")
    assert table.human is not None
    assert f"reliability: {table.human.ceiling['spearman'].value:.2f}," in found.findings[2]
    alone = _overview(_table(samples, noise=noise), samples, []).findings[1]
    assert alone.startswith("No metric agrees with people distinguishably better than chance; highest: noise, ")


def test_without_p_values_the_interval_tells_agreement_from_chance() -> None:
    samples = [replace(sample, dialogue=f"d{i // 2}") for i, sample in enumerate(_rated())]
    true = [float(sum(r.value or 0 for r in s.ratings)) for s in samples]
    noise = [float((i * 37) % 80) for i in range(80)]
    table = _table(samples, good=true, noise=noise)
    assert all(row.with_mean["spearman"].p is None for row in table.rows), "dialogues are resampled"
    assert _overview(table, samples, []).findings[1].startswith("Best agreement with people: good, ")
    for no_better in (noise, [-value for value in true]):
        alone = _overview(_table(samples, noise=no_better), samples, []).findings[1]
        assert alone.startswith("No metric agrees with people distinguishably better than chance")


def test_judgments_that_do_not_vary_are_not_called_alike() -> None:
    samples = [Sample(str(i), ["hi"], "x", (), "ab"[i % 2], [float(i % 2)]) for i in range(80)]
    (found,) = _overview(None, samples, []).findings
    assert found == "Highest mean rating: b, 1.00; the values of each system are all the same."


def test_systems_are_sorted_by_judgment_and_directionless_metrics_are_not_marked() -> None:
    results = [
        SystemScore(metric, system, value, (value - 0.1, value + 0.1), 40, 0)
        for metric in ("chrf", "length")
        for system, value in (("a", 2.0), ("b", 1.0))
    ]
    found = _overview(None, _rated(), results)
    assert found.systems == ("b", "a")
    assert [best for _, best in found.columns[1:]] == ["a", ""]
    assert found.columns[1][0]["a"] == Estimate(2.0, 40, (1.9, 2.1))
    single = _overview(None, [], [SystemScore("chrf", "", 2.0, None, 40, 0)])
    assert (single.systems, single.columns) == (("",), (({"": Estimate(2.0, 40)}, ""),))
    assert single.findings == ()
    leads = _overview(None, [], results).findings
    assert leads == ("Best by chrf: a, 2.00 [1.90, 2.10]; distinguishable from every other system.",)
    assert single.note == "95 % intervals."


def test_the_page_shows_it_first(folder: Path, samples: list[Sample]) -> None:
    page = parse(report(folder, samples))
    section = page.one("main").all("section")[0]
    assert section.attributes["id"] == "overview"
    rows = section.one("table").rows()
    assert [row[0] for row in rows] == ["good", "bad"]
    assert rows[0][1].startswith("4.222[")
    assert "★" not in section.one("table").text  # three samples per system
    findings = page.one("header", cls="masthead").one("ul", cls="findings")
    assert "Ceiling set by the raters’ reliability" in findings.text
