"""Dialogues of users who end them more or less often, as labelled samples."""

from __future__ import annotations

import numpy as np

from interloq import Rating, Sample, Score
from interloq.records import INTERLOCUTOR


def part(name: str, dialogues: int, *, seed: int = 0) -> list[Sample]:
    """Samples of dialogues of up to eight turns; user k replies with probability .5 + k / 20."""
    rng = np.random.default_rng(seed)
    samples = []
    for d in range(dialogues):
        user = int(rng.integers(6) * rng.random())  # from 0 to 4, low numbers more often
        for turn in range(1, 9):
            replied = rng.random() < 0.5 + user / 20
            rating = Rating(float(replied), f"user{user}", "continued", INTERLOCUTOR)
            sample = Sample(f"{name}{d}#{turn}", ["Hi"], "Hello", ratings=[rating], dialogue=f"{name}{d}")
            samples.append(sample)
            if not replied:
                break
    return samples


def informed(samples: list[Sample], metric: str = "dcp", *, scale: float = 1.0, seed: int = 5) -> list[Score]:
    """Scores that know the labels in part, from 0 to `scale`."""
    rng = np.random.default_rng(seed)
    labels = [sample.ratings[0].value or 0.0 for sample in samples]
    values = [scale * float(np.clip(0.3 * label + 0.7 * rng.random(), 0, 1)) for label in labels]
    return [Score(sample.id, metric, value) for sample, value in zip(samples, values, strict=True)]
