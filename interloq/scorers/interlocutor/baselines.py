# SPDX-License-Identifier: Apache-2.0
"""Baselines of continuity prediction: probabilities of a reply from frequencies in the training samples alone.

global_majority   share of all training samples that were answered
private_majority  the same share among samples that this user judged; the global share for users without any
turn_index        the same share at this place in the dialogue, smoothed by the global share; uses neither text nor user

At a threshold of .5 the first two predict the majority class, as in the paper (Tsuta et al., 2024). The third is ours:
dialogues end at some turns more often than at others, and a model that claims to judge replies must beat that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from interloq.errors import InputError
from interloq.records import Key, Sample, Score, format_key
from interloq.scorers.interlocutor.continuity_labels import CONTINUED, judge_of

SMOOTHING = 10.0  # samples with the global share that are added to each turn index


class Baseline(Protocol):
    """A function that scores samples from the labels of training samples."""

    def __call__(self, train: Iterable[Sample], samples: Iterable[Sample], *, aspect: str = ...) -> list[Score]: ...


def global_majority(train: Iterable[Sample], samples: Iterable[Sample], *, aspect: str = CONTINUED) -> list[Score]:
    """Return the share of training samples that were answered, for every sample."""
    return _scores("global_majority", train, samples, aspect, key=lambda _: "")


def private_majority(train: Iterable[Sample], samples: Iterable[Sample], *, aspect: str = CONTINUED) -> list[Score]:
    """Return the share of the training samples judged by the sample's user that were answered."""
    return _scores("private_majority", train, samples, aspect, key=judge_of)


def turn_index(
    train: Iterable[Sample], samples: Iterable[Sample], *, aspect: str = CONTINUED, smoothing: float = SMOOTHING
) -> list[Score]:
    """Return the smoothed share of training samples at the same turn of their dialogue that were answered."""
    return _scores("turn_index", train, samples, aspect, key=index_of, smoothing=smoothing)


BASELINES: Mapping[str, Baseline] = {
    "global_majority": global_majority,
    "private_majority": private_majority,
    "turn_index": turn_index,
}


def label_of(sample: Sample, aspect: str = CONTINUED) -> int | None:
    """Return the label of a sample, 0 or 1; None if it has none."""
    for rating in sample.ratings:
        if rating.aspect == aspect and rating.value is not None:
            return check_label(rating.value, sample.key, aspect)
    return None


def check_label(value: float, key: Key, aspect: str) -> int:
    """Return the rating of a sample as a label; ratings other than 0 and 1 are refused."""
    if value not in (0, 1):
        what = f"the rating of {aspect!r} of {format_key(key)} is {value:g}, but labels are 0 or 1"
        raise InputError(what, hint="name an aspect with labels, such as continued")
    return int(value)


def index_of(sample: Sample) -> str:
    """Return the number of the reply in its dialogue: `7` of `d1#7` in `d1`, or else the number of turns before it."""
    dialogue, _, number = sample.id.rpartition("#")
    return number if number.isdecimal() and dialogue == sample.dialogue else str(len(sample.context))


def _scores(
    name: str,
    train: Iterable[Sample],
    samples: Iterable[Sample],
    aspect: str,
    *,
    key: Callable[[Sample], str],
    smoothing: float = 0.0,
) -> list[Score]:
    """Return the share of answered training samples for each key; an empty or unknown key gets the overall share."""
    labels = defaultdict[str, list[int]](list)
    for sample in train:
        label = label_of(sample, aspect)
        if label is not None:
            labels[key(sample)].append(label)
    if not labels:
        what = f"no training sample has a label {aspect!r}"
        raise InputError(what, hint="give the train part that interloq corpus continuity wrote")
    overall = sum(map(sum, labels.values())) / sum(map(len, labels.values()))
    shares = {}
    for group, known in labels.items():
        if group:
            shares[group] = (sum(known) + smoothing * overall) / (len(known) + smoothing)
    return [Score(sample.id, name, shares.get(key(sample), overall), system=sample.system) for sample in samples]
