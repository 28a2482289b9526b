# SPDX-License-Identifier: Apache-2.0
"""Annotators whose answers should be checked: always the same answer, failed checks, too fast, or no agreement.

Nothing is excluded automatically. Each reason contains its numbers, so that a person can decide.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from interloq.agree.judgments import Judgments
from interloq.web.admin.collected import FinishedPage
from interloq.web.admin.monitor import judgments, votes
from interloq.web.messages import Message, message
from interloq.web.work.answers import CHOICES, PLACES

LEAST_ANSWERS = 10  # before straight-lining or agreement can be seen
SAME = 0.9  # share of one answer that is suspicious …
CHANCE = 0.001  # … unless it is this probable at the rate of the others
LEAST_FAST, FAST = 3, 0.2  # pages, and their share, that are too fast
FAILED = 0.5  # share of failed attention checks
OTHERS_AGREE = 0.3  # mean correlation of the other annotators, below which nobody can be called different
_SIGNIFICANT = 0.05
_LOWER = 0.01  # probability of so low a correlation if the person truly agrees like the others


@dataclass(frozen=True)
class Annotator:
    """Speed, checks and agreement of one person, and the reasons for suspicion."""

    person: int
    pages: int  # without attention checks
    seconds: float  # median per page
    checks: int
    failed: int
    correlation: float  # Pearson's, with the mean of the others; NaN if unknown
    shared: int  # judgments that it is computed from
    reasons: tuple[Message, ...] = ()


def annotators(pages: Sequence[FinishedPage], aspects: Sequence[str], *, least_seconds: float) -> list[Annotator]:
    """Return everybody who finished a page, in the order of their numbers."""
    known: dict[int, list[FinishedPage]] = {}
    for page in pages:
        known.setdefault(page.person, []).append(page)
    given = {person: _count_answers(own) for person, own in known.items()}
    agreeing = _correlations(pages, aspects)
    return [_annotator(person, known[person], given, agreeing, least_seconds=least_seconds) for person in sorted(known)]


def has_passed(page: FinishedPage) -> bool:
    """Return whether all answers to an attention check are correct."""
    answers: dict[str, float | str | None] = {}
    for answer in page.answers:
        answers[answer.aspect] = answer.value if answer.choice is None else answer.choice
    return all(answers.get(aspect) in right for aspect, right in (page.correct or {}).items())


def _annotator(
    person: int,
    own: Sequence[FinishedPage],
    given: Mapping[int, Counter[tuple[str, str]]],
    agreeing: Mapping[int, tuple[float, int]],
    *,
    least_seconds: float,
) -> Annotator:
    checks = [page for page in own if page.correct is not None]
    plain = [page for page in own if page.correct is None]
    failed = sum(not has_passed(page) for page in checks)
    r, n = agreeing.get(person, (math.nan, 0))
    reasons = list(_straight(given[person], [counts for other, counts in given.items() if other != person]))
    fast = sum(page.seconds < least_seconds for page in plain)
    if fast >= LEAST_FAST and fast >= FAST * len(plain):
        reasons.append(message("too_fast", n=fast, pages=len(plain), seconds=f"{least_seconds:g}"))
    if failed > 0 and failed >= FAILED * len(checks):
        reasons.append(message("failed_checks", n=failed, checks=len(checks)))
    reasons += _different(r, n, [other_r for other, (other_r, _) in agreeing.items() if other != person])
    seconds = median(page.seconds for page in plain) if plain else math.nan
    return Annotator(person, len(plain), seconds, len(checks), failed, r, n, tuple(reasons))


def _count_answers(pages: Iterable[FinishedPage]) -> Counter[tuple[str, str]]:
    """Count answers by aspect, and choices by the side shown, since a bored person keeps clicking the same one."""
    counts: Counter[tuple[str, str]] = Counter()
    for page in pages:
        if page.correct is not None:
            continue
        for answer in page.answers:
            if answer.choice == "tie":
                counts[answer.aspect, "tie"] += 1
            elif answer.choice is not None:
                counts[answer.aspect, CHOICES[page.order.index(PLACES.index(answer.choice))]] += 1
            elif answer.value is not None:
                counts[answer.aspect, f"{answer.value:g}"] += 1
    return counts


def _straight(own: Counter[tuple[str, str]], others: Sequence[Counter[tuple[str, str]]]) -> Iterator[Message]:
    from scipy import stats

    everybody: Counter[tuple[str, str]] = Counter()
    for other in others:
        everybody.update(other)
    for aspect in sorted({aspect for aspect, _ in own}):
        answers = _answers_about(own, aspect)
        (value, most), total = answers.most_common(1)[0], answers.total()
        theirs, same = _answers_about(everybody, aspect).total(), everybody[aspect, value]
        if total < LEAST_ANSWERS or most < SAME * total:
            continue
        if theirs and stats.binom.sf(most - 1, total, same / theirs) > CHANCE:
            continue
        answer = message(f"answer_{value}") if value in CHOICES else value
        facts = {"aspect": aspect, "value": answer, "n": most, "total": total}
        if theirs:
            yield message("same_answer", **facts, share=f"{same / theirs:.0%}")
        else:
            yield message("same_answer_alone", **facts)


def _answers_about(counts: Counter[tuple[str, str]], aspect: str) -> Counter[str]:
    return Counter({value: n for (name, value), n in counts.items() if name == aspect})


def _different(r: float, n: int, others: Sequence[float]) -> Iterator[Message]:
    """Name an agreement that chance could explain and that is clearly lower than the others' agreement.

    Chance alone would name many people who judge as well as the others, because few judgments rarely exclude chance.
    """
    from scipy import stats

    known = [correlation for correlation in others if not math.isnan(correlation)]
    mean = float(np.mean(known)) if known else math.nan
    if n < LEAST_ANSWERS or math.isnan(r) or not mean >= OTHERS_AGREE:
        return
    t = r * math.sqrt((n - 2) / max(1e-12, 1 - r * r))
    z = np.diff(np.arctanh(np.clip((mean, r), -1 + 1e-9, 1 - 1e-9))).item() * math.sqrt(n - 3)  # Fisher
    if stats.t.sf(t, n - 2) > _SIGNIFICANT and stats.norm.cdf(z) < _LOWER:
        yield message("no_agreement", r=f"{r:.2f}", n=n, mean=f"{mean:.2f}")


def _correlations(pages: Sequence[FinishedPage], aspects: Sequence[str]) -> dict[int, tuple[float, int]]:
    """Return each person's Pearson's r with the mean of the others, on the aspect with the most shared judgments."""
    correlations: dict[int, tuple[float, int]] = {}
    for aspect in aspects:
        if (judged := judgments(votes(pages, aspect), aspect)) is None:
            continue
        for place, name in enumerate(judged.annotators):
            r, n = _correlation(judged, place)
            person = int(name.removeprefix("p"))
            if n > correlations.get(person, (math.nan, 0))[1]:
                correlations[person] = r, n
    return correlations


def _correlation(judged: Judgments, place: int) -> tuple[float, int]:
    own, others = judged.of(place), judged.without(place)
    both = ~(np.isnan(own) | np.isnan(others))
    x, y = own[both], others[both]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan, len(x)
    return float(np.corrcoef(x, y)[0, 1]), len(x)
