# SPDX-License-Identifier: Apache-2.0
"""How well metrics predict whether people reply: accuracy, macro-F1, AUC and calibration; see `label_predictors.py`.

With training samples, three baselines are added (scorers/interlocutor/baselines.py), and users are grouped by the
number of training samples that they judged (Figure 3 of Tsuta et al., 2024). Resamples draw dialogues with all their
samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from interloq.agree.continuity_table import ContinuityRow, ContinuityTable, UserGroup
from interloq.agree.label_predictors import NO_THRESHOLD, LabelledJudgments, Predictor, label_samples, predictors
from interloq.agree.meta_options import LabelOptions
from interloq.agree.score_columns import columns_fingerprint
from interloq.data.records.read_options import READ_DEFAULTS, ReadOptions
from interloq.errors import InputError
from interloq.metrics import metric_names
from interloq.records import Sample, Score
from interloq.score.scored_samples import ScoredSamples
from interloq.scorers.interlocutor.baselines import BASELINES, label_of
from interloq.scorers.interlocutor.continuity_labels import CONTINUED, find_rater
from interloq.signature import Signature, fingerprint
from interloq.statistics.binary import Labels


def evaluate_continuity(
    scores: Iterable[Score],
    samples: Iterable[Sample],
    *,
    train: Iterable[Sample] = (),
    dev: Iterable[Sample] = (),
    aspect: str = CONTINUED,
    groups: int = 3,
    lower_is_better: bool | None = None,
    n_bootstrap: int = 1000,
    seed: int = 0,
) -> ContinuityTable:
    """Evaluate every metric in `scores` as a predictor of the 0/1 ratings of `samples`.

    `train` adds the baselines and `groups` of users by training size. `scores` may contain scores of `dev` samples,
    from which thresholds are set. `lower_is_better` is the direction of metrics that do not define one themselves; an
    unknown direction is refused.
    """
    if groups < 1 or n_bootstrap < 0:
        raise InputError(f"groups must be at least 1 and n_bootstrap at least 0, got {groups} and {n_bootstrap}")
    scores, samples, train, dev = list(scores), list(samples), list(train), list(dev)
    for metric in metric_names.unknown_directions({score.metric for score in scores}, lower_is_better):
        what, hint = metric_names.UNKNOWN_DIRECTION, "add --higher-is-better or --lower-is-better"
        raise InputError(f"{metric} cannot predict labels: {what}", hint=hint)
    if train:
        for baseline in BASELINES.values():
            scores += baseline(train, [*samples, *dev], aspect=aspect)
    test = label_samples(samples, aspect)
    held = label_samples(dev, aspect) if dev else None
    found_predictors, notes = predictors(scores, test, held, lower_is_better)
    known = ~np.isnan(test.labels)
    facts: dict[str, object] = {"aspect": aspect, "labels": test.judgments.fingerprint, "groups": "", "dev": ""}
    user_groups: list[UserGroup] = []
    if train:
        facts["groups"] = groups
        user_groups += _groups(found_predictors, test, train, aspect, groups, n_bootstrap, seed)
    if held:
        facts["dev"] = held.judgments.fingerprint
    labels = sorted(f"{sample.id}\0{find_rater(sample)}\0{label_of(sample, aspect)}" for sample in train)
    facts["train"] = fingerprint(*labels) if labels else ""
    facts["scores"] = columns_fingerprint({predictor.metric: predictor.scores for predictor in found_predictors})
    facts["lower-is-better"] = "" if lower_is_better is None else lower_is_better
    return ContinuityTable(
        aspect=aspect,
        rows=tuple(_rows(found_predictors, test, known, n_bootstrap, seed)),
        groups=tuple(user_groups),
        samples=int(known.sum()),
        replied=int((test.labels == 1).sum()),
        dialogues=len(np.unique(test.dialogues[known])),
        users=len(_users(test)),
        notes=(*notes, *_notes(test, found_predictors)),
        signature=Signature.of("continuity", {**facts, "resamples": n_bootstrap, "seed": seed}),
    )


def _rows(
    used_predictors: Sequence[Predictor], test: LabelledJudgments, chosen: Labels, n_bootstrap: int, seed: int
) -> Iterator[ContinuityRow]:
    for predictor in used_predictors:
        yield from predictor.rows(test, chosen, n_bootstrap, seed)


def _groups(
    used_predictors: Sequence[Predictor],
    test: LabelledJudgments,
    train: Sequence[Sample],
    aspect: str,
    groups: int,
    n_bootstrap: int,
    seed: int,
) -> Iterator[UserGroup]:
    sizes = Counter(find_rater(sample) for sample in train if label_of(sample, aspect) is not None)
    for group in size_groups(_users(test), sizes, groups):
        is_member = np.array([user in group.sizes for user in test.judgments.users]) & ~np.isnan(test.labels)
        yield UserGroup(
            users=len(group.sizes),
            smallest=min(group.sizes.values()),
            largest=max(group.sizes.values()),
            mean=group.mean,
            samples=int(is_member.sum()),
            rows=tuple(_rows(used_predictors, test, is_member, n_bootstrap, seed)),
        )


def _users(test: LabelledJudgments) -> set[str]:
    """Return the users who judged a sample."""
    labelled_users = zip(test.judgments.users, test.labels, strict=True)
    return {user for user, label in labelled_users if user and not np.isnan(label)}


def _notes(test: LabelledJudgments, used_predictors: Sequence[Predictor]) -> Iterator[str]:
    known = test.labels[~np.isnan(test.labels)]
    share = max(known.mean(), 1 - known.mean())
    yield f"always predicting the more frequent label is right for {share:.1%} of the samples"
    if share == 1:
        yield "all samples have the same label: AUC is undefined"
    for predictor in used_predictors:
        if not predictor.thresholds:
            yield f"{predictor.metric}: {NO_THRESHOLD}"
    if test.judgments.counted.unrated:
        yield f"samples without a label, not used: {test.judgments.counted.unrated}"


@dataclass(frozen=True, slots=True)
class SizeGroup:
    """Users and the number of training samples of each."""

    sizes: Mapping[str, int]

    @property
    def mean(self) -> float:
        """Training samples per user."""
        return sum(self.sizes.values()) / len(self.sizes)


def size_groups(users: Collection[str], sizes: Mapping[str, int], groups: int) -> list[SizeGroup]:
    """Return a group of users without training samples, then at most `groups` groups of the others, smallest first.

    Users are ordered by training samples and cut into groups with about the same number of training samples in total,
    so the last group has the fewest users.
    """
    order = sorted((user for user in users if sizes.get(user)), key=lambda user: (sizes[user], user))
    total, before = sum(sizes[user] for user in order), 0
    by_group: dict[int, dict[str, int]] = {}
    if unseen := {user: 0 for user in users if not sizes.get(user)}:
        by_group[-1] = unseen
    for user in order:
        middle = before + sizes[user] / 2  # a user belongs where the middle of their samples is
        by_group.setdefault(int(middle * groups / total), {})[user] = sizes[user]
        before += sizes[user]
    return list(map(SizeGroup, by_group.values()))


def evaluate_continuity_file(
    scores: Sequence[str | Path], options: LabelOptions, *, reading: ReadOptions = READ_DEFAULTS
) -> ContinuityTable:
    """Evaluate the metrics of score files as predictors of the samples' labels; see `evaluate_continuity`."""
    labelled = list(reading.read(options.samples))
    checked = ScoredSamples(labelled)
    table = evaluate_continuity(
        checked.check_all(scores, partial(reading.read_beside, kind="scores")),
        labelled,
        train=reading.read(options.train) if options.train else (),
        dev=reading.read(options.dev) if options.dev else (),
        aspect=options.aspect,
        groups=options.groups,
        lower_is_better=options.lower_is_better,
        n_bootstrap=options.n_bootstrap,
        seed=options.seed,
    )
    return replace(table, notes=(*table.notes, *checked.notes()))
