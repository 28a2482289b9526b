# SPDX-License-Identifier: Apache-2.0
"""BERT-RUBER's unreferenced scorer (Ghazarian et al., 2019): RUBER's scorer on vectors of a frozen encoder.

q, r = pool(token vectors of utterance, of reply), m = qᵀ M r, score = σ( MLP([q; m; r]) ), MLP 256–512–128 with tanh

The pooling is the maximum or the mean over a text's tokens. The paper has a softmax over two classes; a sigmoid of one
logit is the same function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from interloq.data.files.opening import reading_saved
from interloq.errors import InputError, short_repr
from interloq.learn.store import check_counts, load_model, restore_network
from interloq.models.batches import number_distinct
from interloq.models.encoder import Encoder, Pooling, pool_states
from interloq.models.pretrained import model_folder, weights_fingerprint
from interloq.scorers.ruber.model import VectorPairNetwork

KIND = "bert_ruber"
BATCH = 1024  # pairs scored at a time


class BertRuberNetwork(VectorPairNetwork):
    """Network from n utterance vectors and n reply vectors to logits [n]."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.add_perceptron(dimensions)


def encode_pooled(encoder: Encoder, texts: Sequence[str], pooling: Pooling) -> NDArray[np.float32]:
    """Return one row per text; unlike sentence vectors, rows are not normalised."""
    vectors = np.zeros((len(texts), encoder.dimensions), dtype=np.float32)
    for batch in encoder.encode(texts):
        vectors[batch.places] = pool_states(batch.states.float(), batch.mask, pooling).cpu().numpy()
    return vectors


@dataclass(frozen=True, eq=False)
class BertRuberScorer:
    """A trained scorer with the encoder that it was trained on."""

    network: BertRuberNetwork
    encoder: Encoder
    facts: dict[str, Any]

    @classmethod
    def load(cls, folder: str | Path, *, encoder: str | None = None, device: str = "auto") -> BertRuberScorer:
        """Load a scorer; `encoder` is the encoder's current location; None means as in training."""
        facts, tensors = load_model(folder, kind=KIND)
        with reading_saved(folder):
            config, trained_on = facts["config"], facts["encoder"]
            place = str(encoder or trained_on["place"])
            check_counts(config, "longest")
            layer, longest = config["layer"], config["longest"]
            if config["pooling"] not in get_args(Pooling):
                raise ValueError(f"the pooling is {short_repr(config['pooling'])}")
        if encoder is None:
            place = str(model_folder(place, download=False))
        loaded = Encoder(place, layer=layer, longest=longest, device=device)
        if weights_fingerprint(loaded.folder) != trained_on.get("weights"):
            raise InputError(
                f"{loaded.folder} is not the encoder that the scorer was trained on, {trained_on.get('signature')}",
                hint="set `encoder` to the right one, or train the scorer again",
                where=str(folder),
            )
        network = restore_network(lambda: BertRuberNetwork(loaded.dimensions), tensors, folder)
        return cls(network.double().eval().to(loaded.device), loaded, facts)

    def signature(self) -> str:
        return f"{KIND}-{self.facts['weights']}-{self.encoder.signature()}"

    def scores(self, utterances: Sequence[str], replies: Sequence[str]) -> NDArray[np.float64]:
        """Return the score from 0 to 1 of each pair; each distinct text is encoded once."""
        texts, which = number_distinct([*utterances, *replies], sort=True)
        vectors = torch.from_numpy(encode_pooled(self.encoder, texts, self.facts["config"]["pooling"])).double()
        queries, answers = torch.from_numpy(which).split([len(utterances), len(replies)])
        scores, device = np.zeros(len(replies)), self.encoder.device
        with torch.inference_mode():
            for start in range(0, len(replies), BATCH):
                batch = slice(start, start + BATCH)
                first, second = vectors[queries[batch]].to(device), vectors[answers[batch]].to(device)
                scores[batch] = torch.sigmoid(self.network(first, second)).cpu().numpy()
        return scores
