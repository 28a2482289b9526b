"""Scores made probabilities on a log, without labels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from interloq import InputError, Sample, write
from interloq.metrics.metric import Array, Direction, mean_value, score_rows
from interloq.records import Pair
from interloq.registry import Component
from interloq.score.by_calibration import PAIRS, calibrate, scores_of
from tests.made_rater import said, topic_log


@dataclass(frozen=True)
class Shared(Component):
    """How many words the reply shares with the context, times and plus something: an unbounded metric."""

    times: float = 1.0
    plus: float = 0.0
    cubed: bool = False
    direction: ClassVar[Direction] = "higher"

    def unscorable(self, sample: Sample) -> str | None:
        return None if sample.response.strip() else "empty reply"

    def stats(self, samples: Sequence[Sample]) -> Array:
        shared = [len({*s.response.split()} & {*s.context[-1].text.split()}) for s in samples]
        return score_rows(self.times * np.array(shared, float) ** (3 if self.cubed else 1) + self.plus)

    def value(self, total: Array) -> Array:
        return mean_value(total)


@dataclass(frozen=True)
class Strange(Shared):
    """The fewer words are shared, the lower: lower is better of minus the shared words."""

    direction: ClassVar[Direction] = "lower"

    def stats(self, samples: Sequence[Sample]) -> Array:
        return np.asarray(super().stats(samples) * np.array([-1, 1]))


@pytest.fixture
def log(folder: Path) -> str:
    write("pairs.jsonl", topic_log(300, 1), kind="pairs")
    return "pairs.jsonl"


SCORES = np.arange(8.0)


def test_p_rises_with_the_score_and_half_of_all_examples_are_true(log: str) -> None:
    found = calibrate(Shared(), log)
    chances = found.chances(SCORES)
    assert (np.diff(chances) >= 0).all()
    assert chances[0] < 0.4
    assert chances[4] > 0.6
    replies = [pair.response for pair in topic_log(300, 1)]
    drawn = random.Random(1)
    asked = [Sample("", [p.utterance], p.response) for p in topic_log(300, 1)]
    asked += [Sample("", [s.context[-1].text], drawn.choice(replies)) for s in asked]
    assert found.chances(scores_of(Shared(), asked)).mean() == pytest.approx(0.5, abs=0.05)
    assert np.isnan(found.chances(np.array([np.nan]))).all()
    assert found.chances(np.array([-1e9, 1e9, np.inf])).tolist() == [chances[0], *[found.probabilities[-1]] * 2]


def test_the_unit_of_scores_and_their_direction_do_not_matter(log: str) -> None:
    expected = calibrate(Shared(), log).chances(SCORES)
    assert calibrate(Shared(times=1000, plus=-3), log).chances(1000 * SCORES - 3) == pytest.approx(expected, abs=1e-6)
    cubed = calibrate(Shared(cubed=True), log).chances(SCORES**3)
    assert cubed == pytest.approx(expected, abs=1e-6)
    assert calibrate(Strange(), log).chances(SCORES) == pytest.approx(expected, abs=1e-6)
    assert scores_of(Strange(), [Sample("", ["a b"], "b a"), Sample("", ["a"], "")])[0] == 2


def test_only_some_pairs_of_a_long_log_are_asked_about(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(0)
    pairs = [Pair(f"{i}", f"tea {i}", said("tea", drawn) + f" {i}") for i in range(3 * PAIRS)]
    write("long.jsonl", pairs, kind="pairs")
    asked: list[Sample] = []

    def noting(self: Shared, samples: Sequence[Sample]) -> Array:
        asked.extend(samples)
        return score_rows(np.random.default_rng(0).normal(0, 1, len(samples)) + (len(asked) <= PAIRS))

    monkeypatch.setattr(Shared, "stats", noting)
    first = calibrate(Shared(), "long.jsonl")
    once = asked[:]
    assert len(once) == 2 * PAIRS
    numbers = [int(sample.context[0].text.split()[1]) for sample in once[:PAIRS]]
    assert max(numbers) > 2 * PAIRS
    assert len(set(numbers)) == PAIRS
    asked.clear()
    assert calibrate(Shared(), "long.jsonl").chances(SCORES).tolist() == first.chances(SCORES).tolist()
    assert asked == once


def test_a_metric_that_tells_nothing_or_the_wrong_thing_is_refused(log: str) -> None:
    for metric in (Shared(times=0), Shared(times=-1)):
        with pytest.raises(InputError, match="does not score true replies above replies from elsewhere"):
            calibrate(metric, log)


def test_logs_that_cannot_serve_are_refused(folder: Path) -> None:
    write("few.jsonl", topic_log(15, 1), kind="pairs")
    with pytest.raises(InputError, match=r"few.jsonl: .* pairs with replies that Shared can score, 20 are needed"):
        calibrate(Shared(), "few.jsonl")
    write("same.jsonl", [Pair(f"{i}", f"tea {i}", "yes") for i in range(50)], kind="pairs")
    with pytest.raises(InputError, match="0 pairs with"):
        calibrate(Shared(), "same.jsonl")
    with pytest.raises(InputError, match=r"none\.jsonl"):
        calibrate(Shared(), "none.jsonl")
    Path("bad.jsonl").write_text('{"id": 1\n')
    with pytest.raises(InputError, match=r"bad\.jsonl:1"):
        calibrate(Shared(), "bad.jsonl")
