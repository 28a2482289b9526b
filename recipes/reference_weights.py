"""Do weights of references help BERTScore and BLEU, and why not? Every way to use a rater's weights, on rated replies.

    python recipes/reference_weights.py --data FOLDER --work FOLDER --measured recipes/measured/reference_weights.json

The samples are those of `vbleu_tables.py`, which makes the pool in the work folder: the original reply, the parrot and
15 replies of the whole pool, with weights w from a rater. The ways:

- `linear`: w = 2P − 1, the default of raters; `signed max`: P if P > ½, else P − 1, as in the papers
- `narrow λ`: 1 − λ(1 − w), so that weights differ less than similarities do
- `gold rated`: the gold reply is rated like the others (`gold='rated'`); without it, it has weight 1
- `best n`: only the n references of largest weight besides the gold reply; `unweighted`: w only selects
- `inside`: the weight inside the maximum over tokens, as printed in the paper (BERTScore only)

Each way is compared with the same references unweighted. The table on causes says how often the gold reply alone
decides a score, how much the positive weights of a sample differ (standard deviation / mean), and the mean weight of
added references. Finally, a way is chosen for each set on the other five, and its value on the tested set is compared
with the default of the metric; nothing is chosen on the set it is reported on. No finding decides a claim here:
`vbleu_tables.py` does.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rated_sets import Floats, RatedSet, data_folder
from reference_claims import MEAN, Claim, spearman, verdicts
from reference_pool import pool_index, rated_references, sets_with_one_reference
from relevance import ENCODER
from results import Finding, add_measured_option, report_measured
from vbleu_tables import BERTSCORE, BLEU, GOLD, Parts, best_matches, bleu_scores, scored

from interloq import InterloqError, Sample
from interloq.rate.rater import select
from interloq.registry import create
from interloq.retrieve.leaks import is_original
from interloq.terminal.console import number, print_table

LINEAR, SIGNED = "linear", "signed max"
BEST = (None, 8, 5, 3)
INSIDE, CHOSEN = "linear, inside", "chosen on the other sets"


@dataclass(frozen=True, slots=True)
class Way:
    """One way to use weights; `narrow` is the λ of weights that are pulled towards 1."""

    form: str = LINEAR
    narrow: float = 1.0
    gold_rated: bool = False
    best: int | None = None
    weigh: bool = True

    def __str__(self) -> str:
        parts = [self.form if self.weigh else "unweighted"]
        if self.narrow != 1:
            parts = [f"narrow {self.narrow:g}"]
        if self.gold_rated:
            parts.append("gold rated")
        if self.best is not None:
            parts.append(f"best {self.best}")
        return ", ".join(parts)

    def apply(self, sample: Sample, gold_weight: float) -> Sample:
        """The sample with these references and weights; `gold_weight` is what the rater gives the gold reply."""
        chosen = select(sample, best=self.best, weigh=self.weigh)
        if not self.weigh:
            return chosen
        references = []
        for reference in chosen.references:
            weight = reference.weight
            if is_original(reference):
                weight = gold_weight if self.gold_rated else 1.0
            if self.form == SIGNED and (self.gold_rated or not is_original(reference)):
                chance = (1 + weight) / 2
                weight = chance if chance > 0.5 else chance - 1
            references.append(replace(reference, weight=1 - self.narrow * (1 - weight)))
        return replace(chosen, references=tuple(references))


UNWEIGHTED = tuple(Way(weigh=False, best=best) for best in BEST)
WAYS = (
    *UNWEIGHTED,
    *(Way(form, 1.0, rated, best) for best in BEST for form in (LINEAR, SIGNED) for rated in (False, True)),
    *(Way(LINEAR, narrow, rated) for narrow in (0.25, 0.1) for rated in (False, True)),
)
DEFAULTS = {BLEU: Way(), BERTSCORE: Way(weigh=False, best=8)}


# ---- scores ----------------------------------------------------------------------------------------------------------


def score_ways(own: RatedSet, parts: Parts, log: Path) -> tuple[dict[str, Floats], dict[str, list[float]]]:
    """Scores of each way by row, and figures on causes by way."""
    rated = rated_references(own.samples, pool_index(log), parts.rater)[True]
    golds = gold_weights(own.samples, parts.rater)
    given: dict[str, Sequence[Sample]] = {GOLD: own.samples}
    for way in WAYS:
        given[str(way)] = [way.apply(sample, weight) for sample, weight in zip(rated, golds, strict=True)]
    scores = {f"{BLEU}, {label}": row for label, row in bleu_scores(given).items()}
    matched = best_matches(given, parts.bertscore(), parts.work / "similarities")
    scores |= {f"{BERTSCORE}, {label}": row for label, row in matched.items()}
    inside = f"bertscore(model={parts.encoder!r},weights='inside')"
    scores |= scored(given[str(Way())], {f"{BERTSCORE}, {INSIDE}": inside})
    causes = {str(way): find_causes(given[str(way)], matched, str(way)) for way in WAYS}
    return scores, causes


def gold_weights(samples: Sequence[Sample], rater: str) -> list[float]:
    """What the rater gives the gold reply of each sample."""
    made = create(f"{rater.removesuffix(')')},gold='rated')", kind="rater")
    return [sample.references[0].weight for sample in made.rate(samples)]


def find_causes(weighted: Sequence[Sample], matched: Mapping[str, Floats], label: str) -> list[float]:
    """Share of scores that gold replies decide, spread of positive weights, mean added weight, share unscored."""
    gold_alone = np.array([sample.references[0].weight for sample in weighted]) * matched[GOLD]
    by_gold = np.isclose(gold_alone, matched[label], atol=1e-6).mean()
    spreads = []
    for sample in weighted:
        positive = [reference.weight for reference in sample.references if reference.weight > 0]
        if len(positive) > 1:
            spreads.append(np.std(positive) / np.mean(positive))
    others = [r.weight for sample in weighted for r in sample.references if not is_original(r)]
    unscored = float(np.isnan(matched[label]).mean())
    return [float(by_gold), float(np.mean(spreads)), float(np.mean(others)), unscored]


# ---- figures ---------------------------------------------------------------------------------------------------------


def choose_ways(
    metric: str, sets: Mapping[str, RatedSet], scores: Mapping[str, Mapping[str, Floats]]
) -> dict[str, Way]:
    """The way with the highest mean correlation on the other sets, for each tested set; ties: the first of WAYS."""
    chosen = {}
    for tested in sets:
        others = [name for name in sets if name != tested]
        best_mean = -np.inf
        for way in WAYS:
            found = [spearman(scores[name][f"{metric}, {way}"], sets[name].human) for name in others]
            mean = float(np.mean(found))
            if mean > best_mean:
                chosen[tested], best_mean = way, mean
    return chosen


def compare(
    sets: Mapping[str, RatedSet], scores: Mapping[str, Mapping[str, Floats]], resamples: int
) -> tuple[list[Finding], list[list[str]]]:
    """Each way against the same references unweighted as rows of the differences by set; findings of all references."""
    findings, rows = [], []
    for metric in (BLEU, BERTSCORE):
        labels = [str(way) for way in WAYS[1:]] + ([INSIDE] if metric == BERTSCORE else [])
        for label in labels:
            same = next((str(way) for way in UNWEIGHTED if label.endswith(f"best {way.best}")), str(UNWEIGHTED[0]))
            lower = same if label != same else str(UNWEIGHTED[0])
            claim = Claim("rated > unrated", f"{metric}, {label}", f"{metric}, {lower}")
            *each, mean = verdicts(claim, sets, scores, resamples)
            if "best" not in label:
                findings.append(mean.finding("000/78", f"{MEAN} of six sets, whole pool"))
            rows.append([claim.higher, lower, *(f"{v.difference:+.3f}" for v in each), f"{mean.difference:+.3f}"])
        default = DEFAULTS[metric]
        claim = Claim("a way chosen on the other sets > default", f"{metric}, {CHOSEN}", f"{metric}, {default}")
        findings.append(
            verdicts(claim, sets, scores, resamples)[-1].finding("000/78", f"{MEAN} of six sets, whole pool")
        )
    return findings, rows


def show(
    sets: Mapping[str, RatedSet],
    scores: Mapping[str, Mapping[str, Floats]],
    causes: Mapping[str, Mapping[str, Sequence[float]]],
    chosen: Mapping[str, Mapping[str, Way]],
) -> None:
    """Print correlations by way and set, causes, and the ways that were chosen on other sets."""
    for metric in (BLEU, BERTSCORE):
        rows = []
        for label in (GOLD, *map(str, WAYS), *([INSIDE] if metric == BERTSCORE else [])):
            found = [spearman(scores[name][f"{metric}, {label}"], own.human) for name, own in sets.items()]
            rows.append([f"{metric}, {label}", *map(number, found), number(float(np.mean(found)))])
        print_table("Spearman with people", ["", *sets, MEAN], rows)
        rows = [[f"{metric}: chosen for {name} on the other sets", str(way)] for name, way in chosen[metric].items()]
        print_table("choices", ["", "way"], rows)
    rows = []
    for way in map(str, WAYS):
        means = np.mean([causes[name][way] for name in sets], axis=0)
        rows.append([way, *map(number, means.tolist())])
    columns = ["way", "decided by gold", "spread of weights", "mean weight of added", "unscored"]
    print_table("why: mean of the sets, BERTScore", columns, rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Ways to use weights of references, on public rated replies.")
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/vbleu", metavar="FOLDER", help="pool, index and scores (out/vbleu)")
    parser.add_argument(
        "--scorer", default="relevance(model='ready')", metavar="SPEC", help="what the rater is made of"
    )
    parser.add_argument("--encoder", default=ENCODER, metavar="NAME", help=f"encoder of BERTScore ({ENCODER})")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    add_measured_option(parser)
    args, started = parser.parse_args(argv), time.monotonic()
    try:
        data = data_folder(args.data)
        parts = Parts.of(data, Path(args.work), args.scorer, encoder=args.encoder)
        sets = sets_with_one_reference(data)
        scores: dict[str, dict[str, Floats]] = {}
        causes: dict[str, dict[str, list[float]]] = {}
        for name, own in sets.items():
            print(name, file=sys.stderr)
            scores[name], causes[name] = score_ways(own, parts, parts.log(name))
    except InterloqError as error:
        print(f"reference_weights: {error}", file=sys.stderr)
        return 2
    chosen = {metric: choose_ways(metric, sets, scores) for metric in (BLEU, BERTSCORE)}
    for metric, ways in chosen.items():
        for name, way in ways.items():
            scores[name][f"{metric}, {CHOSEN}"] = scores[name][f"{metric}, {way}"]
    findings, rows = compare(sets, scores, args.resamples)
    show(sets, scores, causes, chosen)
    print_table("differences", ["way", "than", *sets, MEAN], rows)
    report_measured(args.measured, findings, [], started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
