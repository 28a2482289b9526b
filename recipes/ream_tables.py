"""Markdown tables of `ream.py`, as they are in the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ream_augment import BY_QUERY, Agreement, Comparison, Estimate, Growth
from ream_models import Errors
from ream_simulation import Simulated

from interloq.reliability.curve import AgreementCurve


def _print_table(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> None:
    """A Markdown table, as it is in the documentation."""
    print(f"\n{title}\n\n| | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(row)} |")


def _figure(value: float | None, ci: Sequence[float] | None = None, sign: str = "") -> str:
    if value is None:
        return "–"
    return f"{value:{sign}.3f}" + (f" [{ci[0]:{sign}.3f}, {ci[1]:{sign}.3f}]" if ci else "")


def print_labels(found: Mapping[str, Any]) -> None:
    columns = ["queries", "replies", "mean", "variance", "by chance", "learnable", "split halves", "differences"]
    rows = {}
    for name, labels in found.items():
        rows[name] = [
            str(labels.queries), f"{labels.replies:.0f}", _figure(labels.mean), _figure(labels.variance),
            _figure(labels.by_chance), _figure(labels.learnable, labels.learnable_ci),
            _figure(labels.halves, labels.halves_ci), _figure(labels.differences, labels.differences_ci),
        ]  # fmt: skip
    _print_table("Labels: Pearson over the replies to a query, with all references", columns, rows)


def print_curves(found: Mapping[str, AgreementCurve]) -> None:
    for name, one in found.items():
        rows = {}
        for point, other in zip(_level(one, "query"), _level(one, "all"), strict=True):
            title = f"{point.references - point.foreign} own"
            if point.foreign:
                title += f", {point.foreign} foreign"
            rows[title] = [*_point(point), *_point(other)]
        columns = ["per query", "change", "over all replies", "change"]
        known = _level(one, "query")[0].queries
        title = f"{name} ({one.queries} queries, {known} with a correlation at every point): Pearson with people"
        _print_table(title, columns, rows)


def _level(one: AgreementCurve, level: str) -> list[Any]:
    return [p for p in one.points if p.level == level]


def _point(p: Any) -> list[str]:
    return [_figure(p.value, p.ci), _figure(p.gain, p.gain_ci, "+")]


def print_errors(found: Mapping[str, Sequence[Errors]]) -> None:
    for name, sizes in found.items():
        _print_errors(f"{name}: held-out sets", {str(one.size or "all"): one for one in sizes})


def print_sweep(found: Mapping[str, Errors]) -> None:
    _print_errors("Constants: held-out sets", found)


def _print_errors(title: str, found: Mapping[str, Errors]) -> None:
    rows = {}
    for name, errors in found.items():
        rows[name] = [str(errors.queries), _figure(errors.label), _figure(errors.predicted)]
        rows[name] += map(_figure, errors.mse.values())
        rows[name] += [_figure(gain[0], gain[1:], "+") for gain in errors.gains.values()]
    first = next(iter(found.values()))
    columns = ["queries", "label", "predicted", *(f"MSE {way}" for way in first.mse)]
    _print_table(title, [*columns, *(f"{way} − REAM#" for way in first.gains)], rows)


def print_agreement(found: Mapping[str, Any]) -> None:
    rows: dict[str, list[str]] = {}
    one: Agreement
    for one in found["rows"]:
        figures = [_figure(v, one.ci.get(k)) for k, v in one.figures.items()]
        rows[f"{one.metric}; {one.arm}"] = [f"{one.references:.1f}", *figures]
    _print_table("Agreement with people", ["references", *found["rows"][0].figures], rows)
    differences: dict[str, list[str]] = {}
    each: Comparison
    for each in found["differences"]:
        differences.setdefault(f"{each.metric}; {each.higher} − {each.lower}", []).append(
            _figure(each.difference, each.ci, "+")
        )
    _print_table("Differences", ["spearman", "pearson per query"], differences)


def print_growth(found: Sequence[Growth]) -> None:
    for metric in dict.fromkeys(one.metric for one in found):
        ways = [one for one in found if one.metric == metric]
        columns = [text for one in ways for text in (one.way, "change")]
        rows = {}
        for i in range(len(ways[0].points)):
            row = []
            for one in ways:
                row += [_figure(*_split(one.points[i])), _figure(*_split(one.gains[i]), "+")]
            rows[str(i + 1)] = row
        _print_table(f"{metric} ({ways[0].queries} queries): {BY_QUERY} by number of references", columns, rows)


def _split(estimate: Estimate) -> tuple[float, tuple[float, float]]:
    return estimate[0], estimate[1:]


def print_simulation(found: Mapping[str, Simulated]) -> None:
    for way, one in found.items():
        print_errors({f"simulation, {way}, {one.train_sets:,} training sets in {one.seconds:.0f} s": one.truth})
    rows: dict[str, list[str]] = {}
    for one in found.values():
        column = {"MSE of one label": one.label_mse, "MSE of REAM# against labels": one.noisy_mse}
        column |= {f"correlation with the truth, {k}": v for k, v in one.correlation.items()}
        column |= {f"true reliability, {k}": v for k, v in one.augmented.items()}
        for name, value in column.items():
            rows.setdefault(name, []).append(_figure(value))
    _print_table("Simulation", list(found), rows)
