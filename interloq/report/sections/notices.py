# SPDX-License-Identifier: Apache-2.0
"""Warnings at the top of the report, which a reader must see before believing a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from interloq.agree.by_user import split_note
from interloq.agree.table import UserSplit
from interloq.errors import count
from interloq.records import ILLUSTRATIVE, NO_SYSTEM, Key, Note, Sample, Score
from interloq.reliability.weak_references import Predictions
from interloq.report import text
from interloq.report.sections.scores import SystemScore
from interloq.score.checks import Checks

FEW = 30  # here a correlation of 0 has an interval of about ±0.36, more than most differences between metrics


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning that a reader must see before believing a number."""

    kind: Literal["illustrative", "warning", "note"]
    text: str
    details: tuple[tuple[str, str], ...] = ()  # subject and text


def name_judges(samples: Sequence[Sample], aspect: str) -> str:
    """Return who gave the ratings, in words."""
    invented, ratings = _count_invented_ratings(samples, aspect)
    if not invented:
        return "people"
    if invented == ratings:
        return "illustrative ratings"
    return "partly illustrative ratings"


def notices(
    samples: Sequence[Sample],
    scores: Sequence[Score],
    results: Sequence[SystemScore],
    metrics: Iterable[str],
    aspect: str,
    unranked: Mapping[str, str],
    notes: Sequence[Note] | None,
) -> list[Notice]:
    """Return all warnings for the reader."""
    warnings = [
        *_note_invented_ratings(samples, aspect),
        *_note_small_sets(samples),
        *_note_nameless_samples(samples),
        *_note_missing_scores(scores, metrics),
        *_note_mismatches(samples, scores, metrics),
        *_note_means(results),
    ]
    if unranked:
        warnings.append(Notice("note", "Systems are not ranked by some metrics.", tuple(unranked.items())))
    return [*warnings, *_note_data(samples, notes)]


def _count_invented_ratings(samples: Sequence[Sample], aspect: str) -> tuple[int, int]:
    """Return the number of used ratings that were made up for illustration, and of all used ratings."""
    invented = ratings = 0
    for sample in samples:
        for rating in sample.ratings:
            if rating.aspect == aspect and rating.value is not None:
                ratings += 1
                invented += rating.role == ILLUSTRATIVE
    return invented, ratings


def _note_invented_ratings(samples: Sequence[Sample], aspect: str) -> Iterator[Notice]:
    invented, ratings = _count_invented_ratings(samples, aspect)
    if invented:
        which = "The ratings" if invented == ratings else f"{invented:,} of {ratings:,} ratings"
        yield Notice(
            "illustrative",
            f"{which} in this report are illustrative: no person gave them. "
            "The agreement with them does not show how well a metric agrees with people.",
        )


def _note_small_sets(samples: Sequence[Sample]) -> Iterator[Notice]:
    if len(samples) < FEW:
        yield Notice(
            "warning", f"Only {count(len(samples), 'sample')}: differences in so small a set may be due to chance."
        )
        return
    sizes = Counter(sample.system for sample in samples if sample.system)
    small = []
    for system, n in sorted(sizes.items()):
        if n < FEW:
            small.append((system, count(n, "sample")))
    if small:
        yield Notice(
            "warning",
            f"{count(len(small), 'system')} with fewer than {FEW} samples: differences may be due to chance.",
            tuple(small),
        )


def _note_nameless_samples(samples: Sequence[Sample]) -> Iterator[Notice]:
    nameless = sum(not sample.system for sample in samples)
    if 0 < nameless < len(samples):
        yield Notice("warning", f"{count(nameless, 'sample')} without a system, shown as {NO_SYSTEM}.")


def _note_missing_scores(scores: Sequence[Score], metrics: Iterable[str]) -> Iterator[Notice]:
    missing = Counter((s.metric, s.reason or "no reason given") for s in scores if s.value is None)
    if missing:
        order = list(metrics)
        lines = sorted(missing.items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
        details = tuple((metric, f"{count(n, 'sample')}, {reason}") for (metric, reason), n in lines)
        yield Notice("warning", f"{count(missing.total(), 'score')} missing; no value was substituted.", details)


def _note_mismatches(samples: Sequence[Sample], scores: Sequence[Score], metrics: Iterable[str]) -> Iterator[Notice]:
    known = {sample.key for sample in samples}
    seen: dict[str, set[Key]] = {}
    for metric in metrics:
        seen[metric] = set()
    for score in scores:
        seen[score.metric].add(score.key)
    strangers = set().union(*seen.values()) - known
    if strangers:
        yield Notice(
            "warning",
            f"{count(len(strangers), 'scored sample')} not among the samples; they count only in the score table.",
        )
    gaps = []
    for metric, keys in seen.items():
        if missing := known - keys:
            gaps.append((metric, count(len(missing), "sample")))
    if gaps:
        yield Notice("warning", "Some samples are not in the score files.", tuple(gaps))


def _note_data(samples: Sequence[Sample], notes: Sequence[Note] | None) -> Iterator[Notice]:
    """Yield notes on the data from the score files, or else computed from the samples."""
    if notes is None:
        checks = Checks()
        checks.add(samples)
        notes = checks.of_data()
    for note in dict.fromkeys(note.text for note in notes):
        yield Notice("warning", f"{text.sentence(note)}.")


def note_weak_references(predictions: Predictions, samples: Sequence[Sample]) -> Iterator[Notice]:
    """Warn of samples whose references are predicted to be too weak."""
    for note in predictions.notes(sample.key for sample in samples):
        yield Notice("warning", f"{text.sentence(note)}.")


def _note_means(results: Sequence[SystemScore]) -> Iterator[Notice]:
    means = sorted({result.metric for result in results if result.is_mean})
    if means:
        yield Notice(
            "note",
            "If the score files do not have a system’s own score, the mean of its sample scores is shown instead.",
            tuple((metric, "") for metric in means),
        )


def note_user_orders(splits: Sequence[UserSplit]) -> Iterator[Notice]:
    """Warn of each metric that tells users apart, but not the replies to a user."""
    for split in splits:
        if note := split_note(split):
            yield Notice("warning", note)
