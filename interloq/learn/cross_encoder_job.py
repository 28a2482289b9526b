# SPDX-License-Identifier: Apache-2.0
"""Train a cross-encoder: a pretrained network with a new head that reads several texts together.

Relevance, the BERT rater, the tuned judge, the interlocutor's models and the reliability network are trained this way.
Each of them adds its examples (`prepare`), its task with the loss, and its facts. They share everything in this module:
the network to start from, its low-rank updates and its tokenizer, the id of the job, rows of tokens, and the files kept
with the weights. The loop is in `fit.py`, the stages of a run are in `job.py`, and `start.py` loads the trained network
again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.text.token_texts import Texts
from interloq.learn.fit import Examples
from interloq.learn.job import AnyTask, Job, Run
from interloq.learn.low_rank import attach
from interloq.learn.settings import LowRank
from interloq.learn.start import Start, keep_files, low_rank_facts
from interloq.models.batches import make_batches
from interloq.models.cross_encoder import BATCH, TOKENS, CrossEncoder, join_rows, row_lengths
from interloq.models.pretrained import Subwords
from interloq.models.token_rows import TokenRows


@dataclass(frozen=True, kw_only=True)
class CrossEncoderJob(Job[AnyTask]):
    """A job that starts from `encoder`: the name of a pretrained encoder, or the folder of a trained scorer."""

    encoder: str
    low_rank: LowRank = field(default_factory=LowRank)

    others = "other settings, another encoder or other data"
    outputs: ClassVar[int] = 1  # of the head

    @property
    @abstractmethod
    def longest(self) -> int:
        """Tokens of a text that are kept."""

    @property
    def seed(self) -> int:
        """Seed of the weights that are new."""
        return int(self.settings.seed)  # type: ignore[attr-defined]

    @cached_property
    def start(self) -> Start:
        """The network to start from."""
        return Start.of(self.encoder)

    @cached_property
    def subwords(self) -> Subwords:
        """The tokenizer of that network."""
        return Subwords(self.start.files, longest=self.longest)

    def reading_ids(self) -> Sequence[str]:
        """Return ids of the network to start from, its tokenizer, and how texts are read."""
        return [self.start.fingerprint, self.subwords.signature()]

    def dependencies(self) -> Sequence[str]:
        return [*self.reading_ids(), *self.low_rank.parts.values()]

    def network(self) -> CrossEncoder:
        """Return the network with a new head and, if they are trained, low-rank updates."""
        network = self.start.network(self.outputs, seed=self.seed)
        attach(network, self.low_rank, seed=self.seed)
        return network

    def low_rank_facts(self) -> dict[str, Any]:
        """Return facts about low-rank updates and the network they belong to; empty if all weights are stored."""
        return low_rank_facts(self.low_rank, self.start)

    def save_extras(self, folder: Path, run: Run) -> None:  # noqa: ARG002
        keep_files(folder, self.subwords, self.low_rank)


class PairRows:
    """Pairs of texts as rows of tokens: pair i consists of texts 2i and 2i + 1, such as a context and its reply."""

    def __init__(self, texts: Texts, subwords: Subwords) -> None:
        self.texts, self.subwords = texts, subwords
        self.lengths = row_lengths(texts.lengths.reshape(-1, 2))

    def rows(self, pairs: Examples) -> TokenRows:
        """Return one row per pair."""
        return join_rows(self.texts, 2 * pairs[:, None] + np.arange(2), self.subwords)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def outputs(self, network: CrossEncoder, pairs: Examples) -> NDArray[np.float64]:
        """Return the network's output for each pair, computed in batches of similar length."""
        network.eval()
        outputs = np.zeros(len(pairs))
        most = TOKENS[network.head.weight.device.type]
        for batch in make_batches(self.lengths[pairs], size=BATCH, tokens=most, rng=None):
            outputs[batch] = network(self.rows(pairs[batch]))[:, 0].double().cpu().numpy()
        return outputs
