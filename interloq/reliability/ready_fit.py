# SPDX-License-Identifier: Apache-2.0
"""Without a network that predicts reliability: how well references fit, by the relevance scorer of the package.

fit(q, R) = Σ_{r ∈ R} (2 · P(r fits q) − 1) / 10, limited to −1 … 1, where 10 is the usual number of references

A reference raises it if it probably fits the conversation, and lowers it if it does not. Unlike a reliability, this is
no correlation with people, and it does not notice whether references differ from each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from interloq.learn.ready import READY
from interloq.reliability.job import INSTEAD, describe_loss
from interloq.reliability.labels import NONE
from interloq.reliability.model import Prediction, Reliability, saved_signature
from interloq.reliability.pooled import Pooled
from interloq.reliability.reliability_options import LIMIT
from interloq.scorers.relevance.model import RelevanceScorer

LOST = "{error}, so the pooled model that was fitted with it is used"
WARNING = (
    "this is not a prediction of reliability: it says how well the references fit, by the relevance scorer that comes "
    "with the package, which knows only English"
)


class ReadyFit:
    """Says how well sets of references fit, in place of `Reliability`, where references are added by people."""

    predicts = "fit"

    def __init__(self, scorer: RelevanceScorer) -> None:
        self.scorer = scorer

    def warning(self) -> str:
        """Return what its numbers are."""
        return WARNING

    def signature(self) -> str:
        """Return what identifies it."""
        return f"fit-{self.scorer.signature()}"

    def encode(self, pairs: Sequence[tuple[tuple[str, ...], str]]) -> Any:
        """Return the fit of each reference, from −1 to 1."""
        if not pairs:
            return np.zeros((0, 1))
        return 2 * self.scorer.scores([turns for turns, _ in pairs], [text for _, text in pairs])[:, None] - 1

    def project(self, vectors: Any) -> Any:
        """Return the vectors unchanged."""
        return vectors

    def predict_sets(self, vectors: Any, sets: Any) -> Prediction:
        """Return the fit of sets given as rows of pair numbers, without intervals; NaN for an empty set."""
        is_member = sets != NONE
        total = np.where(is_member, vectors[:, 0][np.where(is_member, sets, 0)], 0.0).sum(axis=1) / LIMIT
        unknown = np.full(len(sets), np.nan)
        return Prediction(np.where(is_member.any(axis=1), np.clip(total, -1, 1), np.nan), unknown, unknown)


TrainedModel = Reliability | Pooled


def load_trained(model: str | Path, encoder: str | None = None, device: str = "auto") -> TrainedModel:
    """Load what `interloq train reliability` trained: a pooled model, or a network.

    A network that loses to a naive prediction on its dev queries is replaced by the pooled model stored with it.
    """
    folder = Path(model)
    if Pooled.is_saved(folder):
        return Pooled.load(folder, encoder=encoder, device=device)
    network = Reliability.load(folder, encoder=encoder, device=device)
    if not network.warning() or not Pooled.is_saved(folder / INSTEAD):
        return network
    pooled = Pooled.load(folder / INSTEAD, encoder=encoder, device=device)
    pooled.facts["network"] = {"reason": LOST.format(error=describe_loss(network.facts["dev"]))}
    return pooled


def load_predictor(model: str | Path, encoder: str | None = None, device: str = "auto") -> TrainedModel | ReadyFit:
    """Load a trained model from its folder, or for `ready` the fit of references."""
    if str(model) == READY:
        return ReadyFit(RelevanceScorer.load(READY, device=device))
    return load_trained(model, encoder, device)


def predictor_signature(model: str | Path, encoder: str | None = None) -> str:
    """Return the signature of what `load_predictor` loads; a network alone is not loaded for that."""
    folder = Path(model)
    if str(model) == READY or Pooled.is_saved(folder) or Pooled.is_saved(folder / INSTEAD):
        return load_predictor(model, encoder, "cpu").signature()
    return saved_signature(folder, encoder=encoder)
