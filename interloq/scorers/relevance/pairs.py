# SPDX-License-Identifier: Apache-2.0
"""Exchanges tokenised for `relevance` and `valid`, as pairs for `train adapt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from interloq.errors import InputError
from interloq.learn.adapt.job import AdaptJob
from interloq.learn.adapt.settings import Adaptation, StartingModel
from interloq.learn.pair_tokens import TOKENS, PairTokens, save_pairs
from interloq.learn.settings import Training
from interloq.learn.trainable import PairLog
from interloq.models.pretrained import Subwords
from interloq.scorers.relevance.examples import Exchanges
from interloq.signature import fingerprint


@dataclass(frozen=True, slots=True)
class ExchangePairs:
    """The last turn of each context with its reply, each pair once."""

    stored: Exchanges

    @property
    def source(self) -> str:
        """Fingerprint of the pairs."""
        facts = self.stored.facts
        return fingerprint(*(str(facts[name]) for name in ("reading", "subwords", "source", "exchanges")))

    def write(self, folder: Path, subwords: Subwords, *, dev: int) -> PairTokens:
        """Write the pairs, with texts truncated as by `subwords`."""
        stored = self.stored
        if stored.facts["subwords"] != Subwords(subwords.folder, longest=stored.facts["longest"]).signature():
            raise InputError(
                "the examples were made with another tokenizer", hint="use the model that they were made for, or logs"
            )
        folder.mkdir(parents=True, exist_ok=True)
        stored.tokens.astype(np.int32).tofile(folder / TOKENS)
        lengths = np.minimum(stored.lengths, subwords.longest).astype(np.int32)
        pairs = np.unique(np.column_stack([stored.contexts[:, -1], stored.replies]), axis=0)
        return save_pairs(folder, stored.texts.ends[:-1], lengths, pairs, dev=dev, blank=stored.facts["blank"])


def adapt_job(log: PairLog, given: StartingModel, settings: Adaptation, training: Training) -> AdaptJob:
    """Return the job of `interloq train adapt`, on logs or on examples kept by a scorer."""
    if bool(given.examples) == bool(log.files or log.without):
        raise InputError("give logs to train on or --examples FOLDER, not both")
    if given.examples:
        pairs = ExchangePairs(Exchanges.load(Path(given.examples)))
        return AdaptJob.of(given.model, pairs, settings, training, pairs.source)
    return AdaptJob.of(given.model, log.pairs, settings, training, log.fingerprint)
