# SPDX-License-Identifier: Apache-2.0
"""Turn a metric's scores into probabilities without labels: true replies of a log against replies from elsewhere in it.

P(the true reply) = σ(slope · z + offset),  z = Φ⁻¹(rank of the score among the examples' scores / (examples + 1))

`PAIRS` pairs of the log are drawn at random. Each gives two examples: its utterance with its own reply, and with the
reply of another of these pairs. Half of the examples are true, as in the training of raters. The curve is fitted by
Platt scaling (1999) with its targets, (n + 1) / (n + 2) and 1 / (n + 2), so that it is finite even if the metric
separates all n. Because it is fitted to ranks, the unit of the scores does not matter: perplexity and its logarithm
give the same P. Between the examples P is interpolated; a score below or above all of them has the P of the nearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from interloq.data.records.jsonl import read
from interloq.errors import InputError, count
from interloq.learn.calibrate import probabilities
from interloq.metrics.metric import Array, Metric
from interloq.records import Pair, Sample
from interloq.registry import name_of
from interloq.retrieve.leaks import reads_like
from interloq.signature import file_fingerprint

PAIRS, FEWEST = 1_000, 20  # pairs drawn, and the fewest that are enough
SEED = 0


@dataclass(frozen=True, eq=False)
class ScoreCalibration:
    """P(the true reply) at some scores, in ascending order, and the fingerprint of the log."""

    scores: Array
    probabilities: Array
    source: str

    def chances(self, scores: Array) -> Array:
        """Return P(the true reply) of each score; NaN stays NaN."""
        return np.interp(scores, self.scores, self.probabilities)


def calibrate(metric: Metric, log: str) -> ScoreCalibration:
    """Fit the curve to a metric's scores of true and of other replies, from a file of pairs."""
    pairs = _draw_pairs(log)
    shifted = pairs[len(pairs) // 2 :] + pairs[: len(pairs) // 2]
    true_replies, wrong_replies = [], []
    for pair, other in zip(pairs, shifted, strict=True):
        if not (reads_like(pair.utterance, other.utterance) or reads_like(pair.response, other.response)):
            true_replies.append(Sample("", [pair.utterance], pair.response))
            wrong_replies.append(Sample("", [pair.utterance], other.response))
    true, wrong = scores_of(metric, true_replies), scores_of(metric, wrong_replies)
    known = np.isfinite(true) & np.isfinite(wrong)
    if known.sum() < FEWEST:
        raise InputError(
            f"{count(int(known.sum()), 'pair')} with replies that {name_of(metric)} can score, {FEWEST} are needed",
            hint="use a larger log",
            where=log,
        )
    scores, fitted = _curve(true[known], wrong[known])
    if fitted[0] >= fitted[-1]:
        raise InputError(
            f"{name_of(metric)} does not score true replies above replies from elsewhere",
            hint="rate with another metric, or use a log that is like the dialogues to be judged",
            where=log,
        )
    return ScoreCalibration(scores, fitted, file_fingerprint(Path(log)))


def scores_of(metric: Metric, replies: Sequence[Sample]) -> Array:
    """Return one score per reply, higher is better; NaN for replies that the metric cannot score."""
    scored = [i for i, reply in enumerate(replies) if metric.unscorable(reply) is None]
    sign = -1 if getattr(metric, "direction", "higher") == "lower" else 1
    scores = np.full(len(replies), np.nan)
    scores[scored] = sign * metric.value(metric.stats([replies[i] for i in scored]))
    return scores


def _draw_pairs(log: str) -> list[Pair]:
    """Draw up to `PAIRS` pairs, each equally likely (reservoir sampling)."""
    rng, drawn = np.random.default_rng(SEED), list[Pair]()
    for seen, pair in enumerate(read(log, kind="pairs", strict=True)):
        if seen < PAIRS:
            drawn.append(pair)
        elif (place := int(rng.integers(seen + 1))) < PAIRS:
            drawn[place] = pair
    return drawn


def _curve(true: Array, wrong: Array) -> tuple[Array, Array]:
    """Return the distinct scores of true and wrong replies, and P(the true reply) at each of them."""
    from scipy.optimize import minimize
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores, n = np.concatenate([true, wrong]), len(true)
    columns = np.stack([ndtri(rankdata(scores) / (2 * n + 1)), np.ones(2 * n)])
    targets = np.repeat([(n + 1) / (n + 2), 1 / (n + 2)], n)

    def cross_entropy(curve: Array) -> tuple[float, Array]:
        logits = curve @ columns
        loss = np.logaddexp(0, logits) - targets * logits
        return float(loss.mean()), columns @ (probabilities(logits) - targets) / (2 * n)

    curve = minimize(cross_entropy, np.zeros(2), jac=True, method="BFGS").x
    distinct, first = np.unique(scores, return_index=True)
    return distinct, probabilities(curve @ columns[:, first])
