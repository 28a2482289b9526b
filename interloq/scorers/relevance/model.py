# SPDX-License-Identifier: Apache-2.0
"""Trained scorers: an encoder that reads a reply with its context, or alone.

`relevance` is P(the reply fits the context), `valid` is P(the reply is well formed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from interloq.data.files.opening import reading_saved
from interloq.learn.low_rank import merge
from interloq.learn.ready import scorer_folder
from interloq.learn.start import files_of, load_trained_network, weights_of
from interloq.learn.store import check_counts, check_temperature, foreign, load_model
from interloq.models.batches import number_distinct
from interloq.models.cpu_linear import Precision, check_precision, speed_up
from interloq.models.cross_encoder import TOKENS, CrossEncoder, Network, row_outputs
from interloq.models.pretrained import Subwords
from interloq.models.processes import pick_device
from interloq.signature import fingerprint

Floats = NDArray[np.float64]


class RelevanceScorer:
    """Scores replies after contexts (lists of turns), in float32: batching changes a score by less than 1e-5."""

    kind = "relevance"

    def __init__(self, network: CrossEncoder, subwords: Subwords, facts: dict[str, Any], device: str = "auto") -> None:
        self.device = pick_device(device)
        self.network = network.to(self.device).eval()
        self.subwords, self.facts, self.tokens = subwords, facts, TOKENS[self.device.type]
        self.padded = True

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto", precision: Precision = "float32") -> Self:
        """Load a scorer from its folder; `precision` is `int8` or `float32` (see cpu_linear.py)."""
        folder = scorer_folder(folder)
        check_precision(precision, pick_device(device))
        facts, tensors = load_model(folder, kind=cls.kind)
        with reading_saved(folder):
            check_counts(facts["config"], "longest", "turns", "reply")
            check_counts(facts["config"], "context", least=0)  # `valid` reads the reply alone
            subwords = Subwords(files_of(folder, facts), longest=facts["config"]["longest"])
            if subwords.signature() != facts["subwords"]:
                raise foreign("the tokenizer", folder, "scorer")
            check_temperature(facts)
        network = load_trained_network(folder, facts, tensors, outputs=1, merged=False)
        scorer = cls(network, subwords, facts, device)
        speed_up(scorer.network.encoder, precision)
        merge(scorer.network)  # what is left, such as all layers on a GPU
        scorer.padded = precision == "float32"  # sums over padding differ in the last digit, which may round otherwise
        return scorer

    def signature(self) -> str:
        return signature_of(self.facts)

    def scores(self, contexts: Sequence[Sequence[str]], replies: Sequence[str], *, turns: int | None = None) -> Floats:
        """Return P of each reply after its context; each distinct pair is read once. Turns without text are skipped."""
        logits = self._outputs(contexts, replies, turns, lambda batch: self.network(batch), 1)[:, 0]
        return np.asarray(np.exp(-np.logaddexp(0.0, -logits / self.facts["temperature"])))

    def states(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> Floats:
        """Return the state that the head reads, for each reply after its context [replies, dimensions].

        Each distinct pair is read once, as in `scores`.
        """
        return self._outputs(contexts, replies, None, self.network.states, self.dimensions)

    @property
    def dimensions(self) -> int:
        """Size of a state."""
        return int(self.network.head.in_features)

    def _outputs(
        self, contexts: Sequence[Sequence[str]], replies: Sequence[str], turns: int | None, network: Network, width: int
    ) -> Floats:
        """Return the outputs [replies, width] of the network, or of its encoder, for each reply after its context."""
        pairs = self._last_turns(contexts, replies, turns)
        distinct, which = number_distinct(pairs)
        outputs: Floats = row_outputs(self, self._read(distinct), self.subwords, network, width, padded=self.padded)
        return outputs[which]

    def token_rows(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[tuple[NDArray[Any], ...]]:
        """Return the tokens of each context and of its reply, as the network reads them."""
        return self._read(self._last_turns(contexts, replies, None))

    def _last_turns(
        self, contexts: Sequence[Sequence[str]], replies: Sequence[str], turns: int | None
    ) -> list[tuple[tuple[str, ...], str]]:
        """Return the last turns with text of each context, and its reply."""
        last = turns or self.facts["config"]["turns"]
        pairs = []
        for context, reply in zip(contexts, replies, strict=True):
            with_text = [turn for turn in context if turn.strip()]
            pairs.append((tuple(with_text[-last:]), reply))
        return pairs

    def _read(self, pairs: Sequence[tuple[tuple[str, ...], str]]) -> list[tuple[NDArray[Any], ...]]:
        """Return the tokens of each context, with separators between turns, and of each reply."""
        place: dict[str, int] = {}
        for turns, reply in pairs:
            for text in (*turns, reply):
                place.setdefault(text, len(place))
        texts, config = self.subwords.texts(list(place)), self.facts["config"]
        between = np.array([self.subwords.end], dtype=np.int32)
        read: list[tuple[NDArray[Any], ...]] = []
        for turns, reply in pairs:
            parts = []
            for turn in turns:
                parts += [texts[place[turn]], between]
            read.append((np.concatenate(parts)[:-1][-config["context"] :], texts[place[reply]][: config["reply"]]))
        return read


class ValidScorer(RelevanceScorer):
    """Scores replies without a context."""

    kind = "valid"

    def of(self, replies: Sequence[str]) -> Floats:
        """Return P of each reply; each distinct reply is read once."""
        return self.scores([()] * len(replies), replies)

    def _read(self, pairs: Sequence[tuple[tuple[str, ...], str]]) -> list[tuple[NDArray[Any], ...]]:
        texts = self.subwords.texts([reply for _, reply in pairs])
        return [(texts[i][: self.facts["config"]["reply"]],) for i in range(len(pairs))]


def signature_of(facts: Mapping[str, Any]) -> str:
    """Return the signature of a scorer with these facts."""
    parts = (weights_of(facts), str(facts["subwords"]), repr(facts["temperature"]))
    return f"{facts['kind']}-{fingerprint(*parts)}"
