"""A small GRU rater."""

from __future__ import annotations

import numpy as np
import torch

from interloq import Reference, Sample
from interloq.rate.gru_model import RaterModel


def literal(model: RaterModel, utterance: str, gold: str, reply: str, temperature: float = 1.0) -> float:
    """P of one triplet alone, from the pieces on."""
    texts = [model.pieces.texts([text]).tokens.astype(np.int64) for text in (utterance, gold, reply)]
    with torch.inference_mode():
        lengths = torch.tensor([len(text) for text in texts])
        logits = model.network(torch.from_numpy(np.concatenate(texts)), lengths, torch.tensor([[0, 1, 2]]))[0]
    return float(torch.softmax(logits.double() / temperature, dim=0)[1])


PARROT, FIRST, SECOND = (
    Reference("tea ?", 0.3, "parrot"),
    Reference("so much tea", 0.1, "retrieved:1"),
    Reference("the rain", 1.0, "retrieved:2"),
)
SAMPLE = Sample("1", ["rain today", " tea ? "], "yes tea", [Reference("i like tea", 0.5), PARROT, FIRST, SECOND])
