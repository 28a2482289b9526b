# SPDX-License-Identifier: Apache-2.0
"""The agreement table: metrics with people, and people with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from interloq.agree.table import HumanRow, MetaTable, MetricComparison, MetricRow, Spread, UserSplit
from interloq.errors import count
from interloq.report import text
from interloq.report.elements import Name
from interloq.report.page import Agreement, AgreementRow, Coefficient, ComparisonRow, PeopleRow, SplitRow
from interloq.report.plots.line_plot import cell
from interloq.report.plots.scale import AxisScale, scale
from interloq.report.sections.scores import bar
from interloq.statistics.estimate import Estimate

LABELS = {"pearson": "Pearson r", "spearman": "Spearman ρ", "kendall": "Kendall τ"}


def label(coefficient: str) -> str:
    """Heading of a coefficient; user-defined ones have their own names."""
    return LABELS.get(coefficient, coefficient)


def agreement(table: MetaTable, names: Mapping[str, Name], judges: str) -> Agreement:
    """The section on agreement with people."""
    shared = scale([0, *_values(table)])
    metric_rows = sorted(table.rows, key=lambda row: names[row.metric].number)
    people: tuple[PeopleRow, ...] = ()
    alphas: tuple[str, ...] = ()
    if table.human:
        people = tuple(_people(table.human, table.coefficients, shared))
        alphas = tuple(_alphas(table.human))
    return Agreement(
        summary=_summary(table, judges),
        columns=tuple(map(label, table.coefficients)),
        rows=tuple(_row(row, table.coefficients, names, shared) for row in metric_rows),
        people=people,
        alphas=alphas,
        comparisons=tuple(_comparison(comparison, names) for comparison in table.comparisons),
        low=shared.label(shared.low),
        high=shared.label(shared.high),
        zero=shared.at(0),
        notes=table.notes,
        signature=str(table.signature),
        users=tuple(_split(split, coefficient, names) for split in table.users for coefficient in table.coefficients),
    )


def _split(split: UserSplit, coefficient: str, names: Mapping[str, Name]) -> SplitRow:
    parts = (split.overall, split.between, split.within, split.averaged)
    cells = tuple(cell(part[coefficient]) for part in parts)
    return SplitRow(names[split.metric], label(coefficient), cells, split.users(coefficient))


def _values(table: MetaTable) -> Iterator[float]:
    """All values that the bars must be able to show."""
    estimates: list[Estimate] = []
    for row in table.rows:
        estimates += row.with_mean.values()
    spreads: list[Spread] = []
    if table.human:
        estimates += table.human.split_half.values()
        spreads += [*table.human.pairwise.values(), *table.human.with_others.values()]
    for estimate in estimates:
        yield from (estimate.value, *(estimate.ci or ()))
    for spread in spreads:
        yield from (spread.min, spread.max)


def _summary(table: MetaTable, judges: str) -> str:
    counted, unit = table.counted, table.unit
    who = count(counted.annotators, "annotator")
    if counted.partial_annotators:
        who += f" ({counted.partial_annotators:,} of them rated only some {unit}s)"
    parts = [f"{count(counted.judgments, 'judgment')} by {who} on {count(counted.rated, unit)}"]
    if counted.not_applicable:
        parts.append(f"{counted.not_applicable:,} “not applicable” answers not counted")
    if counted.unrated:
        parts.append(f"{count(counted.unrated, unit)} without a judgment")
    if judges != "people":
        parts.append(f"{judges}: no person gave these")
    return "; ".join(parts) + "."


def _row(row: MetricRow, coefficients: Sequence[str], names: Mapping[str, Name], shared: AxisScale) -> AgreementRow:
    counts = sorted({estimate.n for estimate in row.with_mean.values()})
    return AgreementRow(
        metric=names[row.metric],
        cells=tuple(_cell(row, coefficient, shared) for coefficient in coefficients),
        n=" / ".join(f"{n:,}" for n in counts),
        unscored=f"{row.unscored:,}",
    )


def _cell(row: MetricRow, coefficient: str, shared: AxisScale) -> Coefficient:
    estimate = row.with_mean.get(coefficient)
    if estimate is None:
        return Coefficient(text.MISSING, "")
    return _estimated(estimate, shared, row.with_annotators.get(coefficient))


def _estimated(estimate: Estimate, shared: AxisScale, spread: Spread | None = None) -> Coefficient:
    details = []
    if estimate.note:
        details.append(estimate.note)
    if estimate.p_adjusted is not None:
        details.append(f"adjusted p {text.p_value(estimate.p_adjusted)}")
    elif estimate.p is not None:
        details.append(f"p {text.p_value(estimate.p)}")
    if spread is not None:
        details.append(f"annotators {_range(spread)}")
    return Coefficient(
        value=text.number(estimate.value),
        sort=text.sort_key(estimate.value),
        interval=text.interval(estimate.ci),
        bar=bar(estimate.value, estimate.ci, shared),
        details=tuple(details),
    )


def _people(human: HumanRow, coefficients: Sequence[str], shared: AxisScale) -> Iterator[PeopleRow]:
    for title, spreads in (
        ("one vs. another", human.pairwise),
        ("one vs. the mean of the others", human.with_others),
    ):
        if spreads:
            yield PeopleRow(title, tuple(_spread(spreads.get(coefficient), shared) for coefficient in coefficients))
    if human.split_half:
        cells = []
        for coefficient in coefficients:
            half = human.split_half.get(coefficient)
            cells.append(_estimated(half, shared) if half else Coefficient(text.MISSING, ""))
        yield PeopleRow("half vs. half", tuple(cells))


def _spread(spread: Spread | None, shared: AxisScale) -> Coefficient:
    if spread is None:
        return Coefficient(text.MISSING, "")
    return Coefficient(
        value=text.number(spread.mean),
        sort=text.sort_key(spread.mean),
        bar=bar(spread.mean, (spread.min, spread.max), shared),
        details=(f"from {_range(spread)}",) if not isnan(spread.min) else (),
    )


def _range(spread: Spread) -> str:
    return f"{text.number(spread.min, 2)} to {text.number(spread.max, 2)}"


def _alphas(human: HumanRow) -> Iterator[str]:
    for level, estimate in (("interval", human.alpha), ("ordinal", human.alpha_ordinal)):
        alpha = f"Krippendorff’s α, {level} level: {text.number(estimate.value)}"
        if estimate.ci:
            alpha += f" {text.interval(estimate.ci)}"
        if estimate.note:
            alpha += f" ({estimate.note})"
        yield alpha


def _comparison(comparison: MetricComparison, names: Mapping[str, Name]) -> ComparisonRow:
    return ComparisonRow(
        first=names[comparison.first],
        second=names[comparison.second],
        coefficient=label(comparison.coefficient),
        difference=text.signed(comparison.difference),
        sort=text.sort_key(comparison.difference),
        n=f"{comparison.n:,}",
        williams=text.p_value(comparison.williams_p),
        permutation=text.p_value(comparison.permutation_p),
        adjusted=text.p_value(comparison.permutation_p_adjusted),
    )
