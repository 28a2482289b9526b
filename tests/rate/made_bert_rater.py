"""A small BERT rater."""

from __future__ import annotations

import torch

from interloq.models.cross_encoder import rows
from interloq.rate.bert_model import BertRaterModel


def literal(model: BertRaterModel, triplet: tuple[str, str, str], temperature: float = 1.0) -> float:
    """P of one triplet alone, from the tokens on."""
    texts = [model.subwords.texts([text]).tokens for text in triplet]
    with torch.inference_mode():
        logits = model.network(rows([texts], model.subwords, limit=64))[0].double()
    return float(torch.softmax(logits / temperature, dim=0)[1])
