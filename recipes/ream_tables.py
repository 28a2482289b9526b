"""Markdown tables of `ream.py`, as they are in the documentation, and its findings and tables for the papers' items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ream_augment import ALL, BY_QUERY, MIX, RANDOM, START, Agreement, Comparison, Estimate, Grown
from ream_models import MODEL, Errors
from ream_published import BERTSCORE, BLEU_STAR, ENDS, NETWORK_OF, TABLE_2, TABLE_3
from ream_simulation import Simulated
from results import Cell, Finding, PublishedTable

from interloq.reliability.curve import AgreementCurve

SHORT = {BERTSCORE: "BS", BLEU_STAR: "BLEU*"}  # in the names of networks
DSTC7, GUPTA, PLUSPLUS = "DSTC7", "Gupta", "DailyDialog++"
MARGIN = 0.03  # a third of the published gain of chosen references, .085 for BLEU* and .101 for BERTScore
Results = tuple[list[Finding], list[PublishedTable]]


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


def print_growth(found: Mapping[str, Grown]) -> None:
    for name, grown in found.items():
        for metric in dict.fromkeys(one.metric for one in grown.ways):
            ways = [one for one in grown.ways if one.metric == metric]
            columns = [text for one in ways for text in (one.way, "change")]
            rows = {}
            for i in range(len(ways[0].points)):
                row = []
                for one in ways:
                    row += [_figure(*_split(one.points[i])), _figure(*_split(one.gains[i]), "+")]
                rows[str(i + 1)] = row
            title = f"{name}, {metric} ({ways[0].queries} queries): {BY_QUERY} by number of references"
            _print_table(title, columns, rows)
        print_agreement({"rows": grown.ends, "differences": grown.differences})


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


# ---- findings and tables of the paper --------------------------------------------------------------------------------


def label_results(found: Mapping[str, Any]) -> Results:
    """Table 1: the data."""
    rows: dict[str, Sequence[Cell]] = {}
    names, published = list(dict.fromkeys(name.partition(",")[0] for name in found)), (5000, 14)
    for row, figure, value in zip(("queries", "replies per query"), published, ("queries", "replies"), strict=True):
        rows[row] = [Cell(published=figure, ours=getattr(found[f"{name}, {BERTSCORE}"], value)) for name in names]
    note = "The paper has up to 200 references per query, rated by five people; DSTC7 36 on average, by three."
    table = PublishedTable(
        item="004/45",
        title="Rated replies",
        data="public sets in place of the paper's",
        columns=names,
        rows=rows,
        note=note,
    )
    return [], [table]


def error_results(found: Mapping[str, Sequence[Errors]]) -> Results:
    """Table 2: errors of the paper's network by size, and whether they are below naive ones."""
    findings: list[Finding] = []
    tables: list[PublishedTable] = []
    for name, sizes in found.items():
        every = sizes[-1]
        for way, (value, low, high) in every.gains.items():
            findings.append(
                Finding(
                    item="004/58",
                    way=f"squared error of the {way} prediction − of the paper's network",
                    value=value,
                    ci=(low, high),
                    units=every.queries,
                    unit="queries",
                    data=name,
                )
            )
        rows: dict[str, Sequence[Cell]] = {}
        for errors in sizes:
            metric = name.rpartition(", ")[2]  # none in the simulation
            error, *means = TABLE_2.get(metric, {}).get(errors.size or 0, (None, None, None))
            published = [error if way == MODEL else None for way in errors.mse] + means
            figures = [*errors.mse.values(), errors.predicted, errors.label]
            cells = [Cell(published=old, ours=figure) for old, figure in zip(published, figures, strict=True)]
            rows[str(errors.size or "all sizes")] = cells
        names = [f"error, {'network' if way == MODEL else way}" for way in every.mse]
        tables.append(
            PublishedTable(
                item="004/48",
                title=f"Squared error by number of references, {name}",
                data=f"{name}, {every.queries:,} queries",
                columns=[*names, "mean prediction", "mean label"],
                rows=rows,
                note="The paper reports errors of .006 to .007 at every size, and differences of the means up to .014.",
            )
        )
    return findings, tables


def growth_results(found: Mapping[str, Grown]) -> Results:
    """Figures 3 and 7 and Table 3: references chosen one by one, Mix, and networks for the other metric."""
    findings: list[Finding] = []
    tables: list[PublishedTable] = []
    for name, grown in found.items():
        for metric in (BERTSCORE, BLEU_STAR):
            findings += _growth_findings(name, grown, metric)
        tables += [_table_3(name, grown), _figure_3(name, grown), _figure_7(name, grown)]
    return findings, tables


def _growth_findings(name: str, grown: Grown, metric: str) -> list[Finding]:
    own, other = _networks(grown, metric)
    own_name, other_name = NETWORK_OF[metric], NETWORK_OF[BLEU_STAR if metric == BERTSCORE else BERTSCORE]
    names = ("Raw", own_name, other_name, "Mix")
    raw, by_own, by_other, mixed = (TABLE_3[name][metric][0] for name in names)
    ways: list[tuple[str, str, str, float | None, float, bool]] = [
        ("004/59", own, START, by_own - raw, 0.0, False),
        ("004/59", own, RANDOM, None, 0.0, False),
        ("004/59", own, ALL, None, 0.0, False),
        ("004/61", other, own, by_other - by_own, -MARGIN, name == DSTC7),
    ]
    if metric == BERTSCORE:  # Mix helps
        ways.append(("004/60", MIX, own, mixed - by_own, 0.0, name == DSTC7))
    else:  # and lowers BLEU*
        ways.append(("004/60", own, MIX, by_own - mixed, 0.0, name == DSTC7))
    findings: list[Finding] = []
    for item, higher, lower, published, threshold, decides in ways:
        value, ci, queries = _difference(grown, metric, higher, lower)
        findings.append(
            Finding(
                item=item,
                way=f"{metric} per query: {_arm(higher)} − {_arm(lower)}",
                value=value,
                ci=ci,
                units=queries,
                unit="queries",
                data=name,
                published=None if published is None else round(published, 3),
                threshold=threshold,
                decides=decides,
            )
        )
    return findings


def _networks(grown: Grown, metric: str) -> tuple[str, str]:
    """The network trained for this metric, and the one for the other metric."""
    labels = [one.arm for one in grown.ends if one.arm.startswith("REAM#") and not one.arm.endswith("random")]
    labels = list(dict.fromkeys(labels))
    own = next(label for label in labels if f"({SHORT[metric]})" in label)
    return own, next(label for label in labels if label != own)


def _arm(name: str) -> str:
    return {START: START, RANDOM: "ten random ones", ALL: "all references", MIX: "Mix of both networks"}.get(
        name, f"chosen by {name}"
    )


def _difference(grown: Grown, metric: str, higher: str, lower: str) -> tuple[float, tuple[float, float], int]:
    """The difference per query of two arms at the end, in the order wanted."""
    for one in grown.differences:
        if one.metric == metric and one.coefficient == BY_QUERY:
            if (one.higher, one.lower) == (higher, lower):
                return one.difference, one.ci, one.queries
            if (one.lower, one.higher) == (higher, lower):
                return -one.difference, (-one.ci[1], -one.ci[0]), one.queries
    raise KeyError((metric, higher, lower))


def _table_3(name: str, grown: Grown) -> PublishedTable:
    place = {(one.metric, one.arm): one for one in grown.ends}
    networks = {metric: _networks(grown, metric)[0] for metric in (BERTSCORE, BLEU_STAR)}
    arms = {
        "Raw": START,
        NETWORK_OF[BERTSCORE]: networks[BERTSCORE],
        NETWORK_OF[BLEU_STAR]: networks[BLEU_STAR],
        "Mix": MIX,
        "ten random references": RANDOM,
        "all references": ALL,
    }
    rows: dict[str, Sequence[Cell]] = {}
    for title, arm in arms.items():
        cells = []
        for metric in (BLEU_STAR, BERTSCORE):
            published = TABLE_3.get(title, {}).get(metric, (None, None))
            found = place[metric, arm]
            for coefficient, figure in zip((BY_QUERY, "kendall per query"), published, strict=True):
                cells.append(Cell(published=figure, ours=found.figures[coefficient], ci=found.ci[coefficient]))
        rows[f"{title} ({place[BERTSCORE, arm].references:.1f} references)"] = cells
    return PublishedTable(
        item="004/50",
        title=f"Agreement per query with chosen references, {name}",
        data=name,
        columns=[f"{metric}, {how}" for metric in (BLEU_STAR, BERTSCORE) for how in ("Pearson", "Kendall")],
        rows=rows,
        note="" if name == DSTC7 else "Candidates are replies from logs to similar utterances, not to the same query.",
    )


def _figure_3(name: str, grown: Grown) -> PublishedTable:
    rows: dict[str, Sequence[Cell]] = {}
    for metric in (BLEU_STAR, BERTSCORE):
        own, _ = _networks(grown, metric)
        for way in (own, f"{own}, half random", RANDOM):
            rows[f"{metric}, {_arm(way)}"] = _points(grown, metric, way, ENDS[metric] if way == own else {})
    return _growth_table("004/49", f"Pearson per query by number of chosen references, {name}", name, rows)


def _figure_7(name: str, grown: Grown) -> PublishedTable:
    rows: dict[str, Sequence[Cell]] = {}
    for metric in (BLEU_STAR, BERTSCORE):
        for way in _networks(grown, metric):
            rows[f"{metric}, {_arm(way)}"] = _points(grown, metric, way, {})
    return _growth_table(
        "004/54", f"Pearson per query by number of references, networks of both metrics, {name}", name, rows
    )


def _points(grown: Grown, metric: str, way: str, published: Mapping[int, float]) -> list[Cell]:
    """Return the figures by number of references, of which Table 3 has the ends."""
    one = next(one for one in grown.ways if (one.metric, one.way) == (metric, way))
    cells = []
    for number, (value, low, high) in enumerate(one.points, start=1):
        cells.append(Cell(published=published.get(number), ours=value, ci=(low, high)))
    return cells


def _growth_table(item: str, title: str, name: str, rows: dict[str, Sequence[Cell]]) -> PublishedTable:
    columns = list(map(str, range(1, len(next(iter(rows.values()))) + 1)))
    note = "The figure has no numbers; those of one and ten references are from Table 3."
    return PublishedTable(item=item, title=title, data=name, columns=columns, rows=rows, note=note)


def annotator_results(found: Mapping[str, Any]) -> Results:
    """Figure 4, and whether predictions help annotators, who are simulated."""
    data = f"{GUPTA}, simulated annotators"
    differences = [one for one in found["differences"] if one.coefficient == BY_QUERY]
    findings = [
        Finding(
            item="004/62",
            way=f"{one.metric} per query: {one.higher} − {one.lower.partition(',')[0]}",
            value=one.difference,
            ci=one.ci,
            units=one.queries,
            unit="queries",
            data=data,
            decides=one.higher.endswith(" 10"),
        )
        for one in differences
    ]
    rows: dict[str, list[Cell]] = {}
    columns: list[str] = []
    agreement: Agreement
    for agreement in found["rows"]:
        who, _, number = agreement.arm.partition(", ")
        if number not in columns:
            columns.append(number)
        cell = Cell(ours=agreement.figures[BY_QUERY], ci=agreement.ci[BY_QUERY])
        rows.setdefault(who, []).append(cell)
    table = PublishedTable(
        item="004/51",
        title="Pearson per query with BERTScore by round of annotation",
        data=data,
        columns=columns,
        rows=dict(rows),
        note="The figure has no numbers.",
    )
    return findings, [table]
