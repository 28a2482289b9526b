"""Correlations of BLEU-4, ROUGE-L, BERTScore and Deep AM-FM with people on USR and GRADE, and the published figures.

Yeh, Eskenazi and Mehri (2021), "A Comprehensive Assessment of Dialog Evaluation Metrics", tables of turn-level and
system-level correlations. Their procedure, as far as it can be inferred from the figures:

- one reference, the original reply, which is not a system itself;
- no lower-casing; BLEU splits at white space, ROUGE-L at every single space (two spaces in a row give an empty token,
  which changes four of the GRADE figures);
- BLEU-4 of each reply with the constants 1e-15 and 1e-9 instead of smoothing; ROUGE-L with β = 1.2;
- people: the mean of a reply's Overall scores (GRADE: of all its scores);
- system level: the mean of the replies' scores against the mean of the replies' human means.

    python recipes/dialeval_table.py --data FOLDER      # or INTERLOQ_DATA=FOLDER

FOLDER contains `usr` and `grade`, unpacked or as .tar.gz. The exit code is 0 if all figures agree when rounded to three
decimals, 1 if one does not, 2 if data are missing.

`--encoder NAME` adds BERTScore, `--encoder NAME --lm NAME` Deep AM-FM (with references). The published figures are for
larger models, which are not available here: they are printed with the model used, and need not agree.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from interloq import InterloqError, Sample, evaluate_all
from interloq.agree.agreement import meta_evaluate
from interloq.agree.table import By
from interloq.data.records.jsonl import to_json
from interloq.data.sets.registry import locate, read_dataset
from interloq.data.sets.usr import GROUND_TRUTH
from interloq.statistics.estimate import Estimate

METRICS = {
    "BLEU-4": "bleu(order=4,smoothing='tiny',tokenizer='whitespace')",
    "ROUGE-L": "rouge_l(beta=1.2,tokenizer='space')",
}
PUBLISHED_MODELS = {"BERTScore": "a full-size BERT-like encoder", "Deep AM-FM": "a full-size encoder and GPT-2"}
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
    ("usr", "topical", "BERTScore"): (0.298, 0.325, 0.854, 0.900),
    ("usr", "topical", "Deep AM-FM"): (0.285, 0.268, 0.969, 0.700),
    ("usr", "persona", "BERTScore"): (0.152, 0.122, 0.241, 0.000),
    ("usr", "persona", "Deep AM-FM"): (0.228, 0.219, 0.965, 1.000),
    ("grade", "convai2", "BERTScore"): (0.225, 0.224, 0.918, 0.800),
    ("grade", "convai2", "Deep AM-FM"): (0.117, 0.130, 0.774, 0.400),
    ("grade", "dailydialog", "BERTScore"): (0.129, 0.100, -1.000, -1.000),
    ("grade", "dailydialog", "Deep AM-FM"): (0.026, 0.022, 1.000, 1.000),
    ("grade", "empatheticdialogues", "BERTScore"): (0.046, 0.033, 1.000, 1.000),
    ("grade", "empatheticdialogues", "Deep AM-FM"): (0.083, 0.058, 1.000, 1.000),
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
    agrees: bool | None  # None if the published figure is for another model
    note: str


def with_models(encoder: str | None, lm: str | None) -> dict[str, str]:
    """Metrics that depend on a model, if one was named for them."""
    found = {"BERTScore": f"bertscore(model={encoder!r})"} if encoder else {}
    if encoder and lm:
        am, fm = f"deep_am(model={encoder!r},mode='referenced')", f"deep_fm(model={lm!r},mode='referenced')"
        found["Deep AM-FM"] = f"am_fm(am={am},fm={fm})"
    return found


def figures(data: str | Path | None, encoder: str | None = None, lm: str | None = None) -> Iterator[Figure]:
    """All figures, from the datasets in `data` or in the folder named by INTERLOQ_DATA."""
    metrics = METRICS | with_models(encoder, lm)
    for name, subset in dict.fromkeys(key[:2] for key in PUBLISHED):
        read = read_dataset(name, locate(name, data), subset=subset)
        samples = [sample for sample in read if sample.system != GROUND_TRUTH]
        tables = _tables(samples, list(metrics.values()))
        for metric, spec in metrics.items():
            estimates = {level: table[spec] for level, table in tables.items()}
            yield from _compared(f"{name} {subset}", metric, estimates, PUBLISHED[name, subset, metric])


def agree(ours: float, published: float) -> bool:
    """Whether the figures are equal in the published digits."""
    return round(ours, DIGITS) == round(published, DIGITS)


def _tables(samples: Sequence[Sample], specs: Sequence[str]) -> dict[str, dict[str, Mapping[str, Estimate]]]:
    """Level → spec → coefficient → our figure."""
    results = [by_system[""] for by_system in evaluate_all(specs, samples, n_bootstrap=0)]
    scores = [score for spec, result in zip(specs, results, strict=True) for score in result.scores(spec)]
    levels: dict[str, By] = {"turn": "none", "system": "system"}
    tables = {
        level: meta_evaluate(
            scores, samples, aspect="overall", by=by, n_bootstrap=0, compare=False, system_score="mean"
        )
        for level, by in levels.items()
    }
    return {level: {row.metric: row.with_mean for row in table.rows} for level, table in tables.items()}


def _compared(
    dataset: str, metric: str, estimates: Mapping[str, Mapping[str, Estimate]], published: Sequence[float]
) -> Iterator[Figure]:
    for (level, coefficient), figure in zip(COLUMNS, published, strict=True):
        found = estimates[level][coefficient]
        note = TWO_SYSTEMS if level == "system" and found.n == 2 else found.note
        value = round(found.value, 12) + 0.0  # a system's figure may be 0 except for rounding
        same = None if metric in PUBLISHED_MODELS else agree(value, figure)
        yield Figure(dataset, metric, level, coefficient, figure, value, found.n, same, note)


def _print(rows: Sequence[Figure], models: Mapping[str, str]) -> None:
    print(f"{'dataset':<26}{'metric':<12}{'level':<8}{'coefficient':<13}{'published':>9}{'ours':>9}{'n':>6}")
    for row in rows:
        mark = "  MISMATCH" if row.agrees is False else ""
        note = f"  {row.note}" if row.note else ""
        print(
            f"{row.dataset:<26}{row.metric:<12}{row.level:<8}{row.coefficient:<13}"
            f"{row.published:>9.3f}{row.ours:>9.3f}{row.n:>6}{mark}{note}"
        )
    compared = [row.agrees for row in rows if row.agrees is not None]
    print(f"\n{sum(compared)} of {len(compared)} figures agree to {DIGITS} decimals")
    for metric, spec in models.items():
        print(f"{metric}: ours {spec}; published with {PUBLISHED_MODELS[metric]}, so figures need not agree")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Correlations of BLEU-4, ROUGE-L and others with people, next to the published figures."
    )
    parser.add_argument("--data", metavar="FOLDER", help="contains usr and grade (default: $INTERLOQ_DATA)")
    parser.add_argument("--encoder", metavar="NAME", help="adds BERTScore: a folder or package with an encoder")
    parser.add_argument("--lm", metavar="NAME", help="adds Deep AM-FM: a folder or package with a language model")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(argv)
    try:
        rows = list(figures(args.data, args.encoder, args.lm))
    except InterloqError as error:
        print(f"dialeval_table: {error}", file=sys.stderr)
        return 2
    models = with_models(args.encoder, args.lm)
    if args.json:
        print(json.dumps({"metrics": METRICS | models, "figures": [to_json(row) for row in rows]}, indent=2))
    else:
        _print(rows, models)
    return 1 if any(row.agrees is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
