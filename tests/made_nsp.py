"""A small BERT with the next-sentence head."""

from __future__ import annotations

from pathlib import Path

import torch

from interloq import Sample
from tests.made_network import loaded

REPLIES = ["it was a very good day .", "no", "we saw the film there again .", "日本語", "how was it ?", "day"]


def chat(replies: list[str] = REPLIES) -> list[Sample]:
    return [Sample(f"{i:02}", ["not read .", "how was it ?"], reply) for i, reply in enumerate(replies)]


def literal(folder: Path, first: str, second: str) -> float:
    """Label 0 is is-next: the loss with this label is −log P(is-next), as transformers itself says."""
    tokenizer, model = loaded(folder, "BertForNextSentencePrediction")
    with torch.inference_mode():
        loss = model(**tokenizer(first, second, return_tensors="pt"), labels=torch.tensor([0])).loss
    return float(torch.exp(-loss.double()))
