# SPDX-License-Identifier: Apache-2.0
"""The NN-raters of υBLEU and vBERTScore (Tsuta et al., 2020 and 2023): input for a sample, weights from the output.

P = P(R2 can be a reply to U1 | ⟨U1, R1, R2⟩), with U1 the sample's last turn, R1 its gold reply, R2 the reference.

- `mode='linear'` (default, the authors' code): weight 2·P − 1.
- `mode='signed_max'` (the paper): P if P > ½, else −(1 − P); no weight is between −½ and ½.
- `gold='one'` (default): gold replies weigh 1. `gold='rated'` (the authors' code): they are rated like the rest.

With several gold replies, P is the mean over them. A sample without a gold reply or without a context cannot be rated:
its references weigh 0, so weighted metrics leave it unscored. `calibrated` divides logits by the temperature fitted on
the dev part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from interloq.models.loaded import load_model
from interloq.rate.rater import Rater
from interloq.rate.summary import folder_warning
from interloq.records import Pair, Sample
from interloq.retrieve.leaks import is_original
from interloq.signature import NETWORK, Signature, signature

Mode = Literal["linear", "signed_max"]
Gold = Literal["one", "rated"]
Floats = NDArray[np.float64]
BETWEEN = "\x1e"  # "record separator" of ASCII, between the turns of a context that is read as one text


@dataclass(frozen=True)
class NetworkRater(Rater):
    """Rater that is a trained network; `model` is its folder."""

    places = ("model",)
    libraries = NETWORK
    model: Annotated[str, "folder made by `interloq train rater`"]
    mode: Annotated[Mode, "weight: 2P − 1; or P if P > ½, else P − 1 (none from −½ to ½)"] = "linear"
    gold: Annotated[Gold, "gold replies have weight 1, or are rated like the others"] = "one"
    calibrated: Annotated[bool, "divide logits by the temperature that fits the dev part best"] = False

    def rate(self, samples: Sequence[Sample]) -> list[Sample]:
        turns = self.network().turns
        queries = [_Query.of(sample, self.gold, turns) for sample in samples]
        triplets = [(q.utterance, gold, r) for q in queries for r in q.references for gold in q.golds]
        chances = self.network().chances(triplets, calibrated=self.calibrated)
        rated, start = [], 0
        for sample, query in zip(samples, queries, strict=True):
            end = start + len(query.references) * len(query.golds)
            rated.append(query.set_weights(sample, self._weights(chances[start:end], query)))
            start = end
        return rated

    def signature(self) -> Signature:
        return signature(self, model=self.network().fingerprint)

    def warning(self) -> str:
        """Return a warning if its dev figures are weak; otherwise empty."""
        return folder_warning(self.model, scaled=self.calibrated)

    def network(self) -> Any:
        """Return the loaded model, with `chances(triplets, calibrated=…)`, `turns` and `fingerprint`."""
        raise NotImplementedError

    def _weights(self, chances: Floats, query: _Query) -> Floats:
        if not len(chances):
            return np.zeros(len(query.references))
        return weights(chances.reshape(len(query.references), -1).mean(axis=1), self.mode)


@dataclass(frozen=True)
class Gru(NetworkRater, name="gru"):
    """The rater of υBLEU (Tsuta et al., 2020 and 2023): a Bi-GRU trained on logs by `interloq train rater`."""

    libraries = ("torch", "sentencepiece")

    def network(self) -> Any:
        return load_model("rater 'gru'", "interloq.rate.gru_model:RaterModel.load", self.model, extra="rater")


@dataclass(frozen=True)
class Bert(NetworkRater, name="bert"):
    """The rater of vBERTScore (Tsuta et al., 2023): a transformer trained on logs by `interloq train rater --encoder`.

    It reads utterance, gold reply and reference together.
    """

    def network(self) -> Any:
        return load_model("rater 'bert'", "interloq.rate.bert_model:BertRaterModel.load", self.model)


def weights(chances: Floats, mode: Mode) -> Floats:
    """Turn probabilities into weights in [−1, 1]."""
    if mode == "linear":
        return 2 * chances - 1
    return np.where(chances > 0.5, chances, chances - 1)


@dataclass(frozen=True, slots=True)
class _Query:
    """The network's input for one sample."""

    utterance: str  # or the last turns, joined
    golds: tuple[str, ...]
    references: tuple[str, ...]  # to be rated
    gold: Gold

    @classmethod
    def of(cls, sample: Sample, gold: Gold, turns: int) -> _Query:
        utterance = sample.context[-1].text.strip() if sample.context else ""
        if utterance and turns > 1:
            utterance = join_turns((turn.text for turn in sample.context), turns)
        golds = tuple(r.text for r in sample.references if is_original(r)) if utterance else ()
        rated = tuple(r.text for r in sample.references if gold == "rated" or not is_original(r))
        return cls(utterance, golds, rated, gold)

    def set_weights(self, sample: Sample, values: Floats) -> Sample:
        if not self.golds:
            return replace(sample, references=tuple(replace(r, weight=0.0) for r in sample.references))
        left, references = iter(values.tolist()), []
        for reference in sample.references:
            kept = self.gold == "one" and is_original(reference)
            references.append(replace(reference, weight=1.0 if kept else next(left)))
        return replace(sample, references=tuple(references))


def join_turns(turns: Iterable[str], most: int) -> str:
    """Return the last turns that have text as one text, joined by a control character."""
    return BETWEEN.join([turn.replace(BETWEEN, " ") for turn in turns if turn.strip()][-most:])


def with_contexts(pairs: Iterable[Pair], most: int) -> Iterator[Pair]:
    """Yield the pairs with up to `most` turns before the response as their utterance.

    The turns before an utterance come from the pair in which it is the response: `to` is the id of an earlier pair of
    the thread. If a log lacks that pair, for example because it overlaps test samples, the context starts with the
    utterance.
    """
    thread, known = "", dict[str, list[str]]()
    for pair in pairs:
        if not pair.thread or pair.thread != thread:
            thread, known = pair.thread, {}
        turns = [*known.get(pair.to, ()), pair.utterance][-most:]
        known[pair.id] = turns
        yield replace(pair, utterance=join_turns(turns, most)) if pair.utterance.strip() else pair
