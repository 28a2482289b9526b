"""Can a rater stand in for people who rate references? A proxy, because no ratings of retrieved references are public.

Tsuta et al. (2020, 2023) compare υBLEU, whose references are weighted by a network, with ΔBLEU, for which four people
rated 4,500 retrieved references, and find both comparable; and their BERT rater correlates with people at ρ = .58.
People's ratings of retrieved references are not public. Two proxies use texts that people have judged as references:

- **DailyDialog++** (Sai et al., 2020; test part): people wrote five good replies to each context and five adversarial
  ones that share words with it, and checked them; five more are random. The first good reply is the gold reply, of
  weight 1. Half of the others are references, rated 1 (good) and −1 (others) by people, or by the rater; the other half
  are scored, and what people say about them (good or not) is the judgment that scores should agree with. Then the
  halves are swapped, so that every reply is scored once, and all replies of a half have the same references.
- **Replies of other systems**: in the rated sets with three or more rated replies to a context, each reply is scored
  with the original reply (weight 1) and the other systems' replies as references. Their weights are the mean rating by
  people, scaled to −1 … 1, or the rater's; the judgment is the mean human rating of the scored reply.

    python recipes/rated_references.py --data FOLDER --work FOLDER --measured FILE

Both proxies have what the claim needs, people's weights and people's judgments of the replies, but neither has
references that were retrieved from a log. Controls: all weights 1, the rater's weights shuffled within each context,
and the gold reply alone. The rater's weights are 2P − 1, as in the authors' program; the formula of the paper, the
larger probability with its sign, is an arm of its own.

What decides was chosen before the figures were seen:

- *υBLEU is comparable to ΔBLEU*: on both proxies, Spearman's coefficient with the rater's weights must not be more
  than .03 below the one with people's weights (95 % interval over contexts). In the paper it was .025 below.
- *The rater agrees with people*: Spearman's coefficient of weights and labels on DailyDialog++, whose replies are
  people's, like retrieved references, must be above half of the published one.

The first rater decides. It must not have learned from ratings of the tested sets: `relevance(model='ready')` comes from
logs alone. Further `--rater` specs are measured on DailyDialog++ only, on which no packaged network was trained. The
exit code is 0, or 2 if data or models are missing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pooled_sets import (
    PEARSON,
    SPEARMAN,
    Difference,
    PooledReplies,
    agreement_cell,
    agreement_with_interval,
    annotator_agreement,
    human_agreement,
    make_cell,
    measure,
    pool_replies,
)
from rated_sets import Floats, RatedSet, data_folder
from reference_pool import sets_with_references
from relevance import KINDS, plusplus
from results import (
    Cell,
    Finding,
    Places,
    PublishedTable,
    add_measured_option,
    report_measured,
)
from retrieval import METRIC, clean, singles

from interloq import InterloqError, Reference, Sample, evaluate
from interloq.metrics.combined.rated_references import run_cached
from interloq.rate.rater import as_rater
from interloq.registry import create
from interloq.statistics.binary import measure_auc
from interloq.terminal.console import number_with_interval, print_table

READY = "by(relevance(model='ready'))"
PLUSPLUS, OTHERS = "DailyDialog++", "replies of other systems"
PEOPLE, RATER, SIGNED, SHUFFLED = "people", "rater", "rater, larger probability", "rater, shuffled"
UNRATED, GOLD = "all 1", "gold reply alone"
GOOD = "positive"
FEWEST = 3  # rated replies to a context; the others are the references of each
LOW, HIGH = 1.0, 5.0  # the scale of the rated sets
MARGIN = -0.03  # "comparable": not worse by more than this
COMPARABLE = ("000/79", "001/35")
AGREES, PUBLISHED_AGREEMENT = "000/85", 0.584
# ρ and r of the rater with the mean judgment, the highest and the lowest annotator (Tsuta et al., 2023, Table 6)
PUBLISHED_RATER = (0.584, 0.533, 0.508, 0.556, 0.498, 0.490)
PUBLISHED_PEOPLE = (None, 0.775, 0.670, None, 0.767, 0.664)
COLUMNS = ("ρ mean", "ρ max", "ρ min", "r mean", "r max", "r min")


@dataclass(frozen=True, slots=True)
class RatedCandidates:
    """Candidate references of all contexts in a row: who wrote each, its label by people, and a rater's weight."""

    contexts: Sequence[str]
    kinds: Sequence[str]
    labels: Floats
    weights: Floats


# ---- raters ----------------------------------------------------------------------------------------------------------


def rate_candidates(samples: Sequence[Sample], rater: str) -> list[Floats]:
    """Return the weights of each sample's references, except the first, which is the gold reply."""
    made = as_rater(create(rater, kind="rater"))
    rated = run_cached(samples, lambda some: list(made.rate(some)), signature=str(made.signature()))
    return [np.array([reference.weight for reference in sample.references[1:]]) for sample in rated]


def candidate(text: str) -> Reference:
    """Return a reference that raters do not take for a gold reply."""
    return Reference(text, source="retrieved:candidate")


def shuffle_within(weights: Sequence[Floats], seed: int = 0) -> list[Floats]:
    """Return the weights of each context in random order."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(of_context) for of_context in weights]


def take_larger_probability(weights: Floats) -> Floats:
    """Return ±max(P, 1 − P) for weights 2P − 1."""
    larger: Floats = np.where(weights < 0, -1.0, 1.0) * (1 + np.abs(weights)) / 2
    return larger


# ---- DailyDialog++ ---------------------------------------------------------------------------------------------------


def plusplus_samples(items: Sequence[Mapping[str, Any]]) -> tuple[list[Sample], list[list[str]]]:
    """Return one sample per context with a gold reply and all candidates, and the kind of each candidate."""
    samples: list[Sample] = []
    kinds: list[list[str]] = []
    for number, item in enumerate(items):
        gold, *good = item["positive_responses"]
        texts = [clean(text) for text in good]
        of_item = [GOOD] * len(good)
        for kind in KINDS:
            replies = item[f"{kind}_responses"]
            texts += [clean(text) for text in replies]
            of_item += [kind] * len(replies)
        references = [Reference(clean(gold)), *(candidate(text) for text in texts)]
        samples.append(Sample(f"{number}", [clean(text) for text in item["context"]], "-", references))
        kinds.append(of_item)
    return samples, kinds


def label_candidates(kinds: Sequence[Sequence[str]]) -> list[Floats]:
    """Return 1 for good replies and −1 for others."""
    return [np.array([1.0 if kind == GOOD else -1.0 for kind in of_item]) for of_item in kinds]


def join_candidates(
    samples: Sequence[Sample], kinds: Sequence[Sequence[str]], weights: Sequence[Floats]
) -> RatedCandidates:
    """Return the candidates of all contexts in a row."""
    contexts: list[str] = []
    joined_kinds: list[str] = []
    for sample, of_item in zip(samples, kinds, strict=True):
        contexts += [sample.id] * len(of_item)
        joined_kinds += of_item
    labels = np.concatenate(label_candidates(kinds))
    return RatedCandidates(contexts, joined_kinds, labels, np.concatenate(list(weights)))


def split_halves(kinds: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the places of two halves; replies of each kind alternate between them."""
    halves: tuple[list[int], list[int]] = ([], [])
    seen: dict[str, int] = defaultdict(int)
    for place, kind in enumerate(kinds):
        halves[seen[kind] % 2].append(place)
        seen[kind] += 1
    return halves


def swap_halves(
    samples: Sequence[Sample], kinds: Sequence[Sequence[str]], weights: Sequence[Floats] | None
) -> list[Sample]:
    """Return a sample per candidate, whose references are the gold reply and the other half; without it if None."""
    scored: list[tuple[int, int, Sample]] = []
    for number, (sample, of_item) in enumerate(zip(samples, kinds, strict=True)):
        gold, *candidates = sample.references
        first, second = split_halves(of_item)
        for judged, used in ((first, second), (second, first)):
            references = [gold]
            if weights is not None:
                references += [replace(candidates[i], weight=float(weights[number][i])) for i in used]
            for place in judged:
                reply = candidates[place].text
                made = replace(sample, id=f"{number}/{place}", response=reply, references=tuple(references))
                scored.append((number, place, made))
    return [made for _, _, made in sorted(scored, key=lambda one: one[:2])]


# ---- replies of other systems ----------------------------------------------------------------------------------------


def replies_by_context(rated: RatedSet) -> Iterator[list[int]]:
    """Yield the places of the replies to each context that has enough of them."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, sample in enumerate(rated.samples):
        places[tuple(turn.text for turn in sample.context)].append(place)
    for of_context in places.values():
        if len(of_context) >= FEWEST:
            yield of_context


def keep_several(rated: RatedSet) -> tuple[RatedSet, list[list[int]]]:
    """Return the replies to contexts with enough of them, and the new places of the replies to each context."""
    kept: list[int] = []
    groups: list[list[int]] = []
    for of_context in replies_by_context(rated):
        groups.append(list(range(len(kept), len(kept) + len(of_context))))
        kept += of_context
    samples = singles([rated.samples[place] for place in kept])
    return RatedSet(samples, np.arange(len(kept)), rated.human[kept]), groups


def with_other_replies(
    rated: RatedSet, groups: Sequence[Sequence[int]], weights: Sequence[Floats] | None
) -> list[Sample]:
    """Return the samples with the other replies to their context as references; without them if None."""
    samples = list(rated.samples)
    if weights is None:
        return samples
    for group, of_group in zip(groups, weights, strict=True):
        for place in group:
            references = list(rated.samples[place].references)
            for other, weight in zip(group, of_group.tolist(), strict=True):
                if other != place:
                    references.append(replace(candidate(rated.samples[other].response), weight=weight))
            samples[place] = replace(rated.samples[place], references=tuple(references))
    return samples


def replies_as_candidates(rated: RatedSet, groups: Sequence[Sequence[int]]) -> list[Sample]:
    """Return one sample per context whose references are the gold reply and all systems' replies."""
    samples: list[Sample] = []
    for group in groups:
        first = rated.samples[group[0]]
        replies = [candidate(rated.samples[place].response) for place in group]
        samples.append(replace(first, references=(*first.references, *replies)))
    return samples


def weights_by_people(rated: RatedSet, groups: Sequence[Sequence[int]]) -> list[Floats]:
    """Return the mean ratings of the replies to each context, scaled to −1 … 1 as `human` does."""
    scaled = 2 * (rated.human - LOW) / (HIGH - LOW) - 1
    return [scaled[np.array(group)] for group in groups]


# ---- scores ----------------------------------------------------------------------------------------------------------


def score_bleu(samples: Sequence[Sample]) -> Floats:
    """Return ΔBLEU-2 of each sample, with the weights of its references."""
    by_sample = evaluate(METRIC, samples, n_bootstrap=0).by_sample
    return np.array([by_sample[sample.key] for sample in samples], dtype=np.float64)


def arms(by_people: Sequence[Floats], by_rater: Sequence[Floats]) -> dict[str, Sequence[Floats] | None]:
    """Return the weights of each arm; None: only the gold reply."""
    ones = [np.ones_like(weights) for weights in by_people]
    return {
        PEOPLE: by_people,
        RATER: by_rater,
        SIGNED: [take_larger_probability(weights) for weights in by_rater],
        SHUFFLED: shuffle_within(by_rater),
        UNRATED: ones,
        GOLD: None,
    }


def score_plusplus(
    samples: Sequence[Sample], kinds: Sequence[Sequence[str]], by_rater: Sequence[Floats]
) -> tuple[PooledReplies, dict[str, Floats]]:
    """Return the replies with their labels, and the scores of each arm."""
    labels = label_candidates(kinds)
    rows: dict[str, Floats] = {}
    for arm, weights in arms(labels, by_rater).items():
        rows[arm] = score_bleu(swap_halves(samples, kinds, weights))
        print(f"{PLUSPLUS}: {arm}", file=sys.stderr)
    contexts = np.repeat([sample.id for sample in samples], [len(of_item) for of_item in kinds])
    judged = np.concatenate(labels)
    none = np.zeros((0, len(judged)))
    return PooledReplies((PLUSPLUS,), np.zeros(len(judged), dtype=np.int64), contexts, judged, (), none), rows


def score_other_replies(sets: Mapping[str, RatedSet], rater: str) -> tuple[PooledReplies, dict[str, Floats]]:
    """Return the rated replies of all sets with several replies to a context, and the scores of each arm."""
    kept: dict[str, RatedSet] = {}
    parts: dict[str, list[Floats]] = defaultdict(list)
    for name, whole in sets.items():
        rated, groups = keep_several(whole)
        if len(rated.human) < 2 * FEWEST * FEWEST:  # a few contexts are not a set
            continue
        kept[name] = rated
        by_rater = rate_candidates(replies_as_candidates(rated, groups), rater)
        for arm, weights in arms(weights_by_people(rated, groups), by_rater).items():
            parts[arm].append(score_bleu(with_other_replies(rated, groups, weights)))
    return pool_replies(kept), {arm: np.concatenate(scores) for arm, scores in parts.items()}


def weights_of_replies(sets: Mapping[str, RatedSet], rater: str) -> tuple[PooledReplies, Floats]:
    """Return all rated replies, and the rater's weight of each as a reference beside the gold reply."""
    one_gold = {name: replace(own, samples=singles(own.samples)) for name, own in sets.items()}
    samples: list[Sample] = []
    for own in one_gold.values():
        samples += [_with_reply(sample) for sample in own.samples]
    weights = rate_candidates(samples, rater)
    return pool_replies(one_gold), np.concatenate(weights)


def _with_reply(sample: Sample) -> Sample:
    return replace(sample, references=(*sample.references, candidate(sample.response)))


# ---- findings --------------------------------------------------------------------------------------------------------


def comparisons(proxy: str) -> Iterator[Difference]:
    """Yield what is compared on a proxy."""
    note = "A proxy: these references were not retrieved. Published difference: −.025 (ρ)."
    for coefficient in (SPEARMAN, PEARSON):
        yield Difference(
            item=COMPARABLE[0],
            way=f"{proxy}: rater − people, {coefficient}",
            higher=RATER,
            lower=(PEOPLE,),
            coefficient=coefficient,
            threshold=MARGIN,
            decides=coefficient == SPEARMAN,
            note=note,
        )
    controls = ((SIGNED, PEOPLE), (PEOPLE, UNRATED), (RATER, UNRATED), (RATER, SHUFFLED), (UNRATED, GOLD))
    for higher, lower in controls:
        yield Difference(
            item=COMPARABLE[0],
            way=f"{proxy}, control: {higher} − {lower}",
            higher=higher,
            lower=(lower,),
            threshold=MARGIN if higher == SIGNED else 0.0,
            note="Shows what weights change; not the claim.",
        )


def measure_proxy(proxy: str, replies: PooledReplies, rows: Mapping[str, Floats], resamples: int) -> Iterator[Finding]:
    """Yield the findings on a proxy; the deciding one belongs to both papers."""
    for claim in comparisons(proxy):
        finding = measure(claim, replies, rows, _describe(replies), resamples)
        yield finding
        if finding.decides:
            yield replace(finding, item=COMPARABLE[1])


def rater_findings(rater: str, rated: RatedCandidates, resamples: int, *, decides: bool) -> Iterator[Finding]:
    """Yield how well a rater's weights agree with the labels of DailyDialog++."""
    for kinds in ((GOOD, *KINDS), (GOOD, KINDS[0]), (GOOD, KINDS[1])):
        chosen = np.flatnonzero(np.isin(rated.kinds, kinds))
        contexts = np.array(rated.contexts)[chosen]
        one_set = PooledReplies(
            (PLUSPLUS,), np.zeros(len(chosen), dtype=np.int64), contexts, rated.labels[chosen], (), np.zeros((0, 0))
        )
        value, ci = agreement_with_interval(one_set, rated.weights[chosen], SPEARMAN, resamples)
        against = "all" if len(kinds) > 2 else kinds[1].split("_")[0]
        yield Finding(
            item=AGREES,
            way=f"{rater}: Spearman with labels, against {against} replies",
            value=value,
            ci=ci,
            units=len(np.unique(contexts)),
            unit="contexts",
            data=PLUSPLUS,
            published=PUBLISHED_AGREEMENT,
            threshold=PUBLISHED_AGREEMENT / 2,
            decides=decides and against == "all",
            note="A proxy: labels of replies that people wrote, not ratings of retrieved references.",
        )


def auc_rows(rater: str, rated: RatedCandidates, resamples: int) -> list[str]:
    """Return the AUC of a rater's weights against each kind of other replies, for the table."""
    cells = [rater]
    contexts = np.unique(np.array(rated.contexts), return_inverse=True)[1]
    for kind in KINDS:
        chosen = np.flatnonzero(np.isin(rated.kinds, (GOOD, kind)))
        labels = rated.labels[chosen] > 0
        _, cluster = np.unique(contexts[chosen], return_inverse=True)
        estimate = measure_auc(rated.weights[chosen], labels, cluster, resamples, 0)
        cells.append(number_with_interval(estimate.value, estimate.ci))
    means = [float(rated.weights[np.isin(rated.kinds, kind)].mean()) for kind in (GOOD, *KINDS)]
    return [*cells, *(f"{mean:.2f}" for mean in means)]


def replies_finding(rater: str, replies: PooledReplies, weights: Floats, resamples: int) -> Finding:
    """Return how well the rater's weights of systems' replies agree with people's ratings of these replies."""
    value, ci = agreement_with_interval(replies, weights, SPEARMAN, resamples)
    return Finding(
        item=AGREES,
        way=f"{rater}: Spearman with ratings of systems' replies",
        value=value,
        ci=ci,
        units=len(np.unique(replies.contexts)),
        unit="contexts",
        data=f"{len(replies.sets)} sets",
        published=PUBLISHED_AGREEMENT,
        threshold=PUBLISHED_AGREEMENT / 2,
        note="A proxy: replies of systems rated as if they were references.",
    )


def rater_table(replies: PooledReplies, weights: Floats, resamples: int) -> PublishedTable:
    """Return Table 6 with the rater's weights of systems' replies."""
    every: Places = np.arange(len(replies))
    rater: list[Cell] = []
    people: list[Cell] = []
    published_rater, published_people = iter(PUBLISHED_RATER), iter(PUBLISHED_PEOPLE)
    for coefficient in (SPEARMAN, PEARSON):
        rater.append(agreement_cell(replies, weights, coefficient, next(published_rater), resamples))
        people.append(Cell(published=next(published_people)))
        for end in (max, min):
            of_rater = annotator_agreement(replies, weights, coefficient, end, every)
            rater.append(make_cell(next(published_rater), of_rater))
            people.append(make_cell(next(published_people), human_agreement(replies, coefficient, end)))
    return PublishedTable(
        item="000/69",
        title="The rater against people",
        data="systems' replies of GRADE, USR and Gupta et al., rated as references",
        columns=COLUMNS,
        rows={"rater (ours: relevance, ready)": rater, "people": people},
        note=(
            "A proxy: people's ratings of retrieved references are not public. Means are averages over six sets, maxima"
            " and minima over the two sets of USR, which name their annotators."
        ),
    )


def print_arms(proxy: str, replies: PooledReplies, rows: Mapping[str, Floats], resamples: int) -> None:
    """Print the agreement of each arm with people."""
    lines = []
    for arm, scores in rows.items():
        spearman = agreement_with_interval(replies, scores, SPEARMAN, resamples)
        pearson = agreement_with_interval(replies, scores, PEARSON, resamples)
        lines.append([arm, number_with_interval(*spearman), number_with_interval(*pearson)])
    print_table(f"{proxy}: {len(replies):,} replies, BLEU-2 by weights", ["weights", "ρ", "r"], lines)


def run(args: argparse.Namespace) -> tuple[list[Finding], list[PublishedTable]]:
    """Rate, score and compare on both proxies."""
    data = data_folder(args.data)
    os.environ.setdefault("INTERLOQ_CACHE", str(Path(args.work) / "cache"))
    raters = args.rater or [READY]
    samples, kinds = plusplus_samples(plusplus(data))
    findings: list[Finding] = []
    auc: list[list[str]] = []
    first_weights: list[Floats] = []
    for rater in raters:
        weights = rate_candidates(samples, rater)
        first_weights = first_weights or weights
        rated = join_candidates(samples, kinds, weights)
        findings += rater_findings(rater, rated, args.resamples, decides=rater == raters[0])
        auc.append(auc_rows(rater, rated, args.resamples))
    columns = ["rater", *(f"AUC {kind}" for kind in KINDS), *(f"mean weight {kind}" for kind in (GOOD, *KINDS))]
    print_table(f"{PLUSPLUS}: good replies against others", columns, auc)
    sets = sets_with_references(data)
    proxies = {PLUSPLUS: score_plusplus(samples, kinds, first_weights), OTHERS: score_other_replies(sets, raters[0])}
    for proxy, (replies, rows) in proxies.items():
        print_arms(proxy, replies, rows, args.resamples)
        findings += measure_proxy(proxy, replies, rows, args.resamples)
    replies, weights_of_all = weights_of_replies(sets, raters[0])
    findings.append(replies_finding(raters[0], replies, weights_of_all, args.resamples))
    return findings, [rater_table(replies, weights_of_all, args.resamples)]


def _describe(replies: PooledReplies) -> str:
    sets = replies.sets[0] if len(replies.sets) == 1 else f"{len(replies.sets)} sets"
    return f"{sets}, {len(replies):,} replies"


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="data folder (default: $INTERLOQ_DATA)")
    parser.add_argument("--work", default="out/rated", metavar="FOLDER", help="where weights are kept (out/rated)")
    parser.add_argument("--rater", action="append", metavar="SPEC", help=f"a rater; repeatable (default {READY})")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    try:
        findings, tables = run(args)
    except InterloqError as error:
        print(f"rated_references: {error}", file=sys.stderr)
        return 2
    report_measured(args.measured, findings, tables, started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
