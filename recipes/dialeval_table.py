"""BLEU-4 and ROUGE-L against people on USR and GRADE, beside the published figures.

Yeh, Eskenazi and Mehri (2021), "A Comprehensive Assessment of Dialog Evaluation Metrics", tables of turn-level and
system-level correlations. Their recipe, as far as it can be told from the figures:

- one reference, the original reply; the original reply is no system of its own;
- text as it comes, no lower-casing; BLEU splits at white space, ROUGE-L at every single space (two spaces in a row hold
  an empty token, which moves four of the GRADE figures);
- BLEU-4 of each reply with the constants 1e-15 and 1e-9 in place of smoothing; ROUGE-L with β = 1.2;
- people: the mean of a reply's Overall scores (GRADE: of all its scores);
- system level: the mean of the replies' scores against the mean of the replies' human means.

    python recipes/dialeval_table.py --data FOLDER      # or INTERLOQ_DATA=FOLDER

FOLDER holds `usr` and `grade`, unpacked or as .tar.gz. The exit code is 0 where every figure agrees when rounded to
three decimals, 1 where one does not, 2 where data are missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from interloq import InterloqError, Sample, Score, evaluate_all
from interloq.data.datasets import locate, read_dataset
from interloq.data.jsonl import to_json
from interloq.data.usr import GROUND_TRUTH
from interloq.meta.evaluate import meta_evaluate
from interloq.meta.table import By, Estimate

METRICS = {
    "BLEU-4": "bleu(order=4,smoothing='tiny',tokenizer='whitespace')",
    "ROUGE-L": "rouge_l(beta=1.2,tokenizer='space')",
}
COLUMNS = tuple(product(("turn", "system"), ("pearson", "spearman")))
DIGITS = 3
TWO_SYSTEMS = "uninformative (2 systems)"

# (dataset, subset, metric): turn Pearson, turn Spearman, system Pearson, system Spearman
PUBLISHED: Mapping[tuple[str, str, str], tuple[float, float, float, float]] = {
    ("usr", "topical", "BLEU-4"): (0.216, 0.296, 0.874, 0.900),
    ("usr", "topical", "ROUGE-L"): (0.275, 0.287, 0.814, 0.900),
    ("usr", "persona", "BLEU-4"): (0.135, 0.090, 0.841, 0.800),
    ("usr", "persona", "ROUGE-L"): (0.066, 0.038, 0.171, 0.000),
    ("grade", "convai2", "BLEU-4"): (0.003, 0.128, 0.034, 0.000),
    ("grade", "convai2", "ROUGE-L"): (0.136, 0.140, 0.209, 0.000),
    ("grade", "dailydialog", "BLEU-4"): (0.075, 0.184, 1.000, 1.000),
    ("grade", "dailydialog", "ROUGE-L"): (0.154, 0.147, 1.000, 1.000),
    ("grade", "empatheticdialogues", "BLEU-4"): (-0.051, 0.002, 1.000, 1.000),
    ("grade", "empatheticdialogues", "ROUGE-L"): (0.029, -0.013, 1.000, 1.000),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure and ours."""

    dataset: str
    metric: str
    level: str
    coefficient: str
    published: float
    ours: float
    n: int
    agrees: bool
    note: str


def figures(data: str | Path | None) -> Iterator[Figure]:
    """All figures, from the datasets in `data` or in the folder named by INTERLOQ_DATA."""
    for name, subset in dict.fromkeys(key[:2] for key in PUBLISHED):
        read = read_dataset(name, locate(name, data), subset=subset)
        samples = [sample for sample in read if sample.system != GROUND_TRUTH]
        tables = _tables(samples)
        for metric, spec in METRICS.items():
            estimates = {level: table[spec] for level, table in tables.items()}
            yield from _compared(f"{name} {subset}", metric, estimates, PUBLISHED[name, subset, metric])


def agree(ours: float, published: float) -> bool:
    """Equal to the digits that were published."""
    return round(ours, DIGITS) == round(published, DIGITS)


def _tables(samples: Sequence[Sample]) -> dict[str, dict[str, Mapping[str, Estimate]]]:
    """Level → spec → coefficient → our figure."""
    results = [by_system[""] for by_system in evaluate_all(list(METRICS.values()), samples)]
    scores = [
        Score(id, spec, value)
        for spec, result in zip(METRICS.values(), results, strict=True)
        for id, value in result.by_sample.items()
    ]
    levels: dict[str, By] = {"turn": "none", "system": "system"}
    tables = {
        level: meta_evaluate(scores, samples, aspect="overall", by=by, n_bootstrap=0, compare=False)
        for level, by in levels.items()
    }
    return {level: {row.metric: row.with_mean for row in table.rows} for level, table in tables.items()}


def _compared(
    dataset: str, metric: str, estimates: Mapping[str, Mapping[str, Estimate]], published: Sequence[float]
) -> Iterator[Figure]:
    for (level, coefficient), figure in zip(COLUMNS, published, strict=True):
        found = estimates[level][coefficient]
        note = TWO_SYSTEMS if level == "system" and found.n == 2 else found.note
        value = round(found.value, 12) + 0.0  # a system's figure may be 0 but for rounding
        yield Figure(dataset, metric, level, coefficient, figure, value, found.n, agree(value, figure), note)


def _print(rows: Sequence[Figure]) -> None:
    print(f"{'dataset':<26}{'metric':<9}{'level':<8}{'coefficient':<13}{'published':>9}{'ours':>9}{'n':>6}")
    for row in rows:
        mark = "" if row.agrees else "  MISMATCH"
        note = f"  {row.note}" if row.note else ""
        print(
            f"{row.dataset:<26}{row.metric:<9}{row.level:<8}{row.coefficient:<13}"
            f"{row.published:>9.3f}{row.ours:>9.3f}{row.n:>6}{mark}{note}"
        )
    print(f"\n{sum(row.agrees for row in rows)} of {len(rows)} figures agree to {DIGITS} decimals")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="BLEU-4 and ROUGE-L against people, beside the published figures.")
    parser.add_argument("--data", metavar="FOLDER", help="holds usr and grade (default: $INTERLOQ_DATA)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(argv)
    try:
        rows = list(figures(args.data))
    except InterloqError as error:
        print(f"dialeval_table: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps({"metrics": METRICS, "figures": [to_json(row) for row in rows]}, indent=2))
    else:
        _print(rows)
    return 0 if all(row.agrees for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
