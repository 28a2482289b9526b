"""Does a user token help to predict who answers, at equal rates and with thousands of replies per user, without a GPU?

    python recipes/dcp_frozen.py --data DATA --out OUT

BYU chit-chat with all training replies (those of `dcp.py --all-training`; dev and test are drawn to 58 % answered as
there, so figures can be compared with that recipe's). The encoder is frozen, and only small heads are trained:
`frozen_heads.py` says how this differs from the paper, which fine-tunes BERT. `DCP` and `DCP + user token` are trained
with the same learning rates and seeds; the rate with the lower mean dev loss of both is used for both. Every figure is
the mean over SEEDS.

**003/52, a user token helps.** What decides is the paper's measure, accuracy, with the same share of replies predicted
to be answered by both heads (that of the dev part), over the latest dialogues of each user, as in the paper. Users are
resampled: the claim is about users, and replies to one person are not independent. AUC needs no threshold, and is
reported beside it, within users too, since a token that only learns how often a user answers raises AUC between users.
A second design holds out every dialogue once (FOLDS folds, rows "held-out dialogues"): four times as many unanswered
replies are tested, but later dialogues are learned from.

**003/57, the gain grows above 1,200 samples per user.** What decides is the gain in AUC of users with more than MANY
training replies, minus the gain of the others. The paper shows only a figure of it. Those users may differ in other
ways, so both heads are also trained on at most CAPS replies of each user: do the same users gain less?

**003/54 and 003/55, engagement.** The heads without users also score rated replies: see `dcp_engagement.py`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from dcp_baselines import without_farewell
from dcp_data import ANSWERED, label, prepare_continuity
from dcp_engagement import engagement_findings, read_own_ratings, score_engagement, table_5
from frozen_heads import (
    ENCODER,
    Floats,
    HeadSettings,
    Ints,
    RatedDialogues,
    Reduction,
    Rows,
    TrainedHead,
    TurnVectors,
    auc_within_users,
    decide_at_share,
    draw_answered,
    encode_texts,
    features,
    interval_at,
    mean_auc,
    number_users,
    texts_of,
    train_head,
)
from interlocutor_arms import exit_code, samples_of
from interlocutor_figures import dialogue_of, numbered
from numpy.typing import NDArray
from rated_sets import data_folder
from results import Cell, Finding, PublishedTable, add_measured_option, interval_by_unit, report_measured

from interloq import Sample
from interloq.agree.continuity import size_groups
from interloq.scorers.interlocutor.baselines import BASELINES
from interloq.scorers.interlocutor.continuity_labels import judge_of
from interloq.terminal.console import print_line, print_stderr, print_table

Labels = NDArray[np.bool_]
LOG, DATA_NAME = "byu", "BYU chit-chat"
DCP, TOKEN = "DCP", "DCP + user token"
SEEDS = (0, 1, 2)
FOLD_SEEDS = (0, 1)
RATES = (1e-4, 3e-4, 1e-3)
FOLDS = 5
CAPS = (100, 400)  # training replies per user
MANY = 1200  # training samples of a user, above which the paper sees accuracy rise
GROUPS = 3
NOTE = "frozen encoder, trained heads"
PUBLISHED_TOKEN = 0.751 - 0.668


@dataclass(frozen=True, slots=True)
class Tested:
    """Outputs of the heads for tested replies, one array per seed, and what is known about these replies."""

    scores: Mapping[str, Sequence[Floats]]
    labels: Labels
    users: Sequence[str]
    dialogues: Sequence[str]
    sizes: Mapping[str, int]  # user → training replies
    share: float  # of the dev replies that were answered
    rate: float

    def gain(self, places: Ints) -> float:
        """Return the AUC with a token minus the AUC without."""
        return mean_auc(self.scores[TOKEN], self.labels, places) - mean_auc(self.scores[DCP], self.labels, places)

    def right(self, title: str) -> Floats:
        """Return the share of seeds whose decision is right, if all heads predict the same share of answers."""
        decisions = [decide_at_share(one, self.share) == self.labels for one in self.scores[title]]
        return np.asarray(np.mean(decisions, axis=0))

    def accuracy_gain(self) -> Floats:
        """Return the gain in accuracy at each reply."""
        return self.right(TOKEN) - self.right(DCP)


# ---- BYU chit-chat ---------------------------------------------------------------------------------------------------


def rows_of(samples: Sequence[Sample], vectors: TurnVectors, known: Sequence[str]) -> Rows:
    """Return what heads read of samples."""
    labels = np.array([float(label(sample)) for sample in samples])
    return Rows(features(samples, vectors), labels, number_users([judge_of(sample) for sample in samples], known))


def train_both(
    train: Rows, dev: Rows, users: int, settings: HeadSettings, seeds: Sequence[int]
) -> dict[str, list[TrainedHead]]:
    """Train both heads with each seed."""
    heads: dict[str, list[TrainedHead]] = {DCP: [], TOKEN: []}
    for seed in seeds:
        heads[DCP].append(train_head(train, dev, 0, settings, seed))
        heads[TOKEN].append(train_head(train, dev, users, settings, seed))
        losses = {title: f"{own[-1].dev_loss:.4f} (epoch {own[-1].epoch})" for title, own in heads.items()}
        print_stderr(f"rate {settings.learning_rate:g}, seed {seed}: dev loss {losses}")
    return heads


def mean_loss(heads: Mapping[str, Sequence[TrainedHead]]) -> float:
    """Return the mean dev loss of both heads over all seeds."""
    return float(np.mean([head.dev_loss for own in heads.values() for head in own]))


def run_latest(
    parts: Mapping[str, Sequence[Sample]], vectors: TurnVectors, seeds: Sequence[int], settings: HeadSettings
) -> tuple[dict[float, Tested], list[TrainedHead]]:
    """Test on the latest dialogues.

    Returns the figures of each rate, the best first, and the heads without users of the best rate.
    """
    users = sorted({judge_of(sample) for sample in parts["train"]})
    rows = {part: rows_of(samples, vectors, users) for part, samples in parts.items()}
    trained = {}
    for rate in RATES:
        chosen = replace(settings, learning_rate=rate)
        trained[rate] = train_both(rows["train"], rows["dev"], len(users), chosen, seeds)
    order = sorted(RATES, key=lambda rate: mean_loss(trained[rate]))
    tested = {}
    for rate in order:
        scores = {title: [head.predict(rows["test"]) for head in own] for title, own in trained[rate].items()}
        tested[rate] = tested_of(scores, parts["test"], parts["train"], float(rows["dev"].y.mean()), rate)
    return tested, trained[order[0]][DCP]


def tested_of(
    scores: Mapping[str, Sequence[Floats]], test: Sequence[Sample], train: Sequence[Sample], share: float, rate: float
) -> Tested:
    """Return outputs with what is known about the tested replies."""
    return Tested(
        scores,
        np.array([label(sample) == 1 for sample in test]),
        [judge_of(sample) for sample in test],
        [dialogue_of(sample) for sample in test],
        Counter(judge_of(sample) for sample in train),
        share,
        rate,
    )


def run_capped(
    parts: Mapping[str, Sequence[Sample]],
    vectors: TurnVectors,
    seeds: Sequence[int],
    settings: HeadSettings,
    cap: int,
) -> Tested:
    """Test on the latest dialogues after training on at most `cap` replies of each user, drawn at random."""
    kept: list[int] = []
    drawn = Counter[str]()
    for place in np.random.default_rng(0).permutation(len(parts["train"])).tolist():
        user = judge_of(parts["train"][place])
        drawn[user] += 1
        if drawn[user] <= cap:
            kept.append(place)
    users = sorted(drawn)
    capped = {**parts, "train": [parts["train"][place] for place in sorted(kept)]}
    rows = {part: rows_of(samples, vectors, users) for part, samples in capped.items()}
    heads = train_both(rows["train"], rows["dev"], len(users), settings, seeds)
    scores = {title: [head.predict(rows["test"]) for head in own] for title, own in heads.items()}
    return tested_of(scores, parts["test"], parts["train"], float(rows["dev"].y.mean()), settings.learning_rate)


def cap_findings(whole: Tested, capped: Mapping[int, Tested], resamples: int) -> list[Finding]:
    """Return how much more users with many training replies gain from a token if all their replies are learned."""
    many = np.flatnonzero([whole.sizes.get(user, 0) > MANY for user in whole.users])
    findings = []
    for cap, tested in capped.items():

        def growth(places: Ints, tested: Tested = tested) -> float:
            return whole.gain(places) - tested.gain(places)

        value, ci, n = interval_at(many, whole.users, growth, resamples)
        way = f"gain in AUC from the token, users with more than {MANY:,} replies: all of them above {cap} of them"
        findings.append(
            Finding(item="003/57", way=way, value=value, ci=ci, units=n, unit="users", data=DATA_NAME, note=NOTE)
        )
        everything = np.arange(len(whole.labels))
        figures = {title: round(mean_auc(own, tested.labels, everything), 3) for title, own in tested.scores.items()}
        print_line(f"AUC with at most {cap} training replies per user: {figures}")
    return findings


def run_folds(
    samples: Sequence[Sample], vectors: TurnVectors, seeds: Sequence[int], settings: HeadSettings
) -> tuple[Tested, Sequence[Floats]]:
    """Hold out every dialogue once; of the held-out replies, answered ones are drawn to the usual share.

    Also returns the scores of all replies by the heads without users.
    """
    users = sorted({judge_of(sample) for sample in samples})
    rows = rows_of(samples, vectors, users)
    dialogues = numbered(map(dialogue_of, samples))
    rng = np.random.default_rng(0)
    fold = rng.integers(FOLDS, size=int(dialogues.max()) + 1)[dialogues]
    is_dev = (rng.random(int(dialogues.max()) + 1) < 0.1)[dialogues]
    tested = draw_answered(rows.y == 1, ANSWERED, rng)
    scores = {title: [np.zeros(len(samples)) for _ in seeds] for title in (DCP, TOKEN)}
    for number in range(FOLDS):
        train = np.flatnonzero((fold != number) & ~is_dev)
        dev = np.flatnonzero((fold != number) & is_dev)
        held = np.flatnonzero(fold == number)
        heads = train_both(rows[train], rows[dev], len(users), settings, seeds)
        for title, own in heads.items():
            for k, head in enumerate(own):
                outputs = head.predict(rows[held])
                # heads of different folds have different offsets, so ranks within a fold are compared
                scores[title][k][held] = np.argsort(np.argsort(outputs)) / len(held)
    kept = {title: [one[tested] for one in own] for title, own in scores.items()}
    found = tested_of(kept, [samples[i] for i in tested], samples, ANSWERED, settings.learning_rate)
    held_in = (FOLDS - 1) / FOLDS * 0.9  # share of a user's replies that are learned from
    return replace(found, sizes={user: int(n * held_in) for user, n in found.sizes.items()}), scores[DCP]


def token_findings(
    tested: Tested, design: str, resamples: int, *, decides: bool = False, within: bool = True
) -> list[Finding]:
    """Return whether a token helps, in accuracy and AUC, overall and within users."""
    user = numbered(tested.users)
    gain = tested.accuracy_gain()

    def gain_within_users(places: Ints) -> float:
        with_token = auc_within_users(tested.scores[TOKEN], tested.labels, user, places)
        return with_token - auc_within_users(tested.scores[DCP], tested.labels, user, places)

    def accuracy(places: Ints) -> float:
        return float(gain[places].mean())

    measures: list[tuple[str, Callable[[Ints], float], str]] = [
        ("accuracy at the same predicted rate", accuracy, "users"),
        ("accuracy at the same predicted rate", accuracy, "dialogues"),
        ("AUC", tested.gain, "users"),
        ("AUC", tested.gain, "dialogues"),
    ]
    if within:
        measures.append(("AUC within users", gain_within_users, "dialogues"))
    findings = []
    for number, (measure, statistic, unit) in enumerate(measures):
        units = tested.users if unit == "users" else tested.dialogues
        value, ci, n = interval_by_unit(units, statistic, resamples=resamples)
        findings.append(
            Finding(
                item="003/52",
                way=f"{TOKEN} above {DCP}: {measure}, {design}, {unit} resampled",
                value=value,
                ci=ci,
                units=n,
                unit=unit,
                data=DATA_NAME,
                published=PUBLISHED_TOKEN if measure.startswith("accuracy") else None,
                decides=decides and number == 0,
                note=NOTE,
            )
        )
    return findings


def growth_findings(tested: Tested, design: str, resamples: int, *, decides: bool) -> list[Finding]:
    """Return whether the gain is larger for users with many training replies, and the gain of each group."""
    many = np.array([tested.sizes.get(user, 0) > MANY for user in tested.users])

    def growth(places: Ints) -> float:
        return tested.gain(places[many[places]]) - tested.gain(places[~many[places]])

    groups = {f"users with more than {MANY:,} training replies": many, "other users": ~many}
    value, ci, n = interval_by_unit(tested.users, growth, resamples=resamples)
    way = f"gain in AUC from the token: users with more than {MANY:,} training replies above others, {design}"
    finding = Finding(
        item="003/57", way=way, value=value, ci=ci, units=n, unit="users", data=DATA_NAME, decides=decides, note=NOTE
    )
    findings = [finding]
    for name, chosen in groups.items():
        places = np.flatnonzero(chosen)
        value, ci, n = interval_at(places, tested.users, tested.gain, resamples)
        way = f"gain in AUC from the token: {name}, {design}"
        findings.append(replace(finding, way=way, value=value, ci=ci, units=n, decides=False))
    return findings


def figure_3(tested: Tested, resamples: int) -> PublishedTable:
    """Return AUC and accuracy by groups of users (Figure 3)."""
    rows: dict[str, Sequence[Cell]] = {}
    right = {title: tested.right(title) for title in tested.scores}
    for group in size_groups(set(tested.users), tested.sizes, GROUPS):
        places = np.flatnonzero([user in group.sizes for user in tested.users])
        cells = []
        for title in (DCP, TOKEN):

            def measure_auc(chosen: Ints, title: str = title) -> float:
                return mean_auc(tested.scores[title], tested.labels, chosen)

            def measure_accuracy(chosen: Ints, title: str = title) -> float:
                return float(right[title][chosen].mean())

            for statistic in (measure_auc, measure_accuracy):
                value, ci, _ = interval_at(places, tested.dialogues, statistic, resamples)
                cells.append(Cell(ours=value, ci=ci))
        low, high = min(group.sizes.values()), max(group.sizes.values())
        rows[f"{len(group.sizes)} users with {low:,} to {high:,} training replies"] = cells
    return PublishedTable(
        item="003/47",
        title="Figure 3: who answers, by the user's number of training samples",
        data=f"{DATA_NAME}, latest dialogues, frozen encoder",
        columns=[f"{title}, {measure}" for title in (DCP, TOKEN) for measure in ("AUC", "accuracy")],
        rows=rows,
        note="The paper prints the figure without numbers. Accuracy: both heads predict the same share of answers. "
        "Dialogues were resampled.",
    )


# ---- the whole -------------------------------------------------------------------------------------------------------


def print_figures(tested: Tested, parts: Mapping[str, Sequence[Sample]]) -> None:
    """Print AUC and accuracy of the heads and of the baselines that read no text."""
    rows = []
    everything = np.arange(len(tested.labels))
    for title, scores in tested.scores.items():
        auc = mean_auc(scores, tested.labels, everything)
        rows.append([title, f"{auc:.3f}", f"{tested.right(title).mean():.3f}"])
    baselines = {"farewell words": without_farewell(parts["test"])}
    for name in ("private_majority", "turn_index"):
        baseline = BASELINES[name]
        baselines[name] = np.array([score.value for score in baseline(parts["train"], parts["test"])])
    for name, values in baselines.items():
        right = (decide_at_share(values, tested.share) == tested.labels).mean()
        rows.append([name, f"{mean_auc([values], tested.labels, everything):.3f}", f"{right:.3f}"])
    title = f"{DATA_NAME}, {len(everything):,} replies of the latest dialogues, rate {tested.rate:g}"
    print_table(title, ["", "AUC", "accuracy at the same predicted rate"], rows)
    print_line()


def run(args: argparse.Namespace, started: float) -> None:
    """Prepare, encode, train, test and report."""
    torch.set_num_threads(args.threads)
    data, out = data_folder(args.data), Path(args.out)
    if not (out / "data" / LOG).exists():
        prepare_continuity(LOG, data, out / "data", all_training=True)
    parts = {part: samples_of(out / "data" / LOG, part) for part in ("train", "dev", "test")}
    everything = [sample for samples in parts.values() for sample in samples]
    cache = out / "vectors.sqlite"
    encoded = encode_texts(texts_of(everything), cache, args.encoder)
    reduction = Reduction.fit(encoded)
    vectors = reduction(encoded)
    settings = HeadSettings()
    by_rate, heads = run_latest(parts, vectors, SEEDS, settings)
    best, *others = by_rate.values()
    print_figures(best, parts)
    findings = token_findings(best, f"latest dialogues, rate {best.rate:g}", args.resamples, decides=True)
    for other in others:
        findings += token_findings(other, f"latest dialogues, rate {other.rate:g}", args.resamples, within=False)
    findings += growth_findings(best, "latest dialogues", args.resamples, decides=True)
    chosen = replace(settings, learning_rate=best.rate)
    capped = {cap: run_capped(parts, vectors, SEEDS, chosen, cap) for cap in CAPS}
    findings += cap_findings(best, capped, args.resamples)
    folds, scores = run_folds(everything, vectors, FOLD_SEEDS, chosen)
    findings += token_findings(folds, "held-out dialogues", args.resamples)
    findings += growth_findings(folds, "held-out dialogues", args.resamples, decides=False)
    rated = score_engagement(data, heads, reduction, cache, args)
    findings += engagement_findings(rated, args.resamples)
    # all replies of dialogues in train are there; of the others, only those that were drawn
    whole = [one[: len(parts["train"])] for one in scores]
    names = [sample.dialogue for sample in parts["train"]]
    own = RatedDialogues.of(whole, names, read_own_ratings(data))
    findings += own.findings("003/54", "conversations of people", DATA_NAME, args.resamples)
    tables = [figure_3(best, args.resamples), table_5(rated, args.resamples)]
    report_measured(args.measured, findings, tables, started)


def main(argv: Sequence[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", metavar="FOLDER", help="published sets and logs (default: $INTERLOQ_DATA)")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="samples and vectors, kept between runs")
    parser.add_argument("--encoder", default=ENCODER, metavar="FOLDER", help=f"frozen encoder ({ENCODER})")
    parser.add_argument("--relevance", default="ready", metavar="FOLDER", help="in place of BERT-NSP (ready)")
    parser.add_argument("--resamples", type=int, default=1000, metavar="N", help="for intervals (1000)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of PyTorch (1)")
    add_measured_option(parser)
    args = parser.parse_args(argv)
    return exit_code("dcp_frozen", lambda: run(args, started))


if __name__ == "__main__":
    sys.exit(main())
