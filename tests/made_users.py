"""Replies judged by the people in the dialogues."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from interloq import Rating, Sample, Score
from interloq.records import INTERLOCUTOR, OUTSIDER

USERS, REPLIES = 20, 12


def judged(seed: int = 0) -> tuple[list[Sample], NDArray[np.float64], NDArray[np.float64]]:
    """Samples of 20 users, the mean rating of each sample's user, and the deviations from it."""
    rng = np.random.default_rng(seed)
    means = np.repeat(rng.normal(size=USERS), REPLIES)
    deviations = rng.normal(size=(USERS, REPLIES))
    deviations = (deviations - deviations.mean(axis=1, keepdims=True)).ravel()
    samples = [
        Sample(
            f"d{i // REPLIES}#{i % REPLIES}",
            ["Hi"],
            "Hello",
            ratings=[
                Rating(float(mean + deviation), f"user{i // REPLIES}", "impression", INTERLOCUTOR),
                Rating(float(deviation), "outsider", "impression", OUTSIDER),
            ],
        )
        for i, (mean, deviation) in enumerate(zip(means, deviations, strict=True))
    ]
    return samples, means, deviations


def scores(samples: list[Sample], columns: Mapping[str, NDArray[np.float64]]) -> list[Score]:
    """Scores by several metrics."""
    return [
        Score(sample.id, name, None if np.isnan(value) else float(value))
        for name, column in columns.items()
        for sample, value in zip(samples, column, strict=True)
    ]
