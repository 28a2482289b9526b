"""Small language models and a chat for FED, FULL and perplexity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from interloq import Sample
from interloq.models.lm.causal import FollowUpScores


def chat() -> list[Sample]:
    before = ["hi .", "how was it ?", " "]
    replies = ["it was a very good day .", "no idea , sorry .", "日本語", "it"]
    return [Sample(f"{i}", before[: i % 4], reply) for i, reply in enumerate(replies)]


class Words:
    """Each word of a follow-up has the log-likelihood −(letters of the word) − (turns), of a dialogue −1 a word."""

    def follow_up_scores(
        self, dialogues: Any, follow_ups: Sequence[str], *, whole: bool = False, **_: Any
    ) -> FollowUpScores:
        words = [text.split() for text in follow_ups]
        sums = [[-sum(len(word) + len(turns) for word in own) for own in words] for turns in dialogues]
        lengths = np.array([len(" ".join(turns).split()) for turns in dialogues])
        return FollowUpScores(
            np.array(sums, dtype=float), np.array([len(own) for own in words]), -1.0 * lengths * whole, lengths
        )

    def reply_scores(self, dialogues: Any, replies: Sequence[str], **_: Any) -> Any:
        counts = np.array([len(text.split()) for text in replies])
        return -counts * np.array([len(turns) + 1.0 for turns in dialogues]), counts

    def signature(self) -> str:
        return "words"


TWO = Sample("two", ["x y"], "z")  # two turns, three words


class OneByOne:
    """The authors' way: one pass for each text."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def whole(self, turns: Sequence[str], follow_up: str) -> float:
        """The loss that transformers gives for the text: the mean over all tokens but the first."""
        texts = [*turns, follow_up]
        ids = [i for text in texts for i in (0, *self.tokenizer(text)["input_ids"])]  # 0 is <eos>
        with torch.inference_mode():
            return float(self.model(torch.tensor([ids]), labels=torch.tensor([ids])).loss)

    def conditional(self, turns: Sequence[str], follow_up: str) -> float:
        before = [i for turn in turns for i in (0, *self.tokenizer(turn)["input_ids"])] + [0]
        own = self.tokenizer(follow_up)["input_ids"]
        ids = torch.tensor([before + own])
        labels = ids.clone()
        labels[0, : len(before)] = -100
        with torch.inference_mode():
            return float(self.model(ids, labels=labels).loss)

    def score(self, mode: str, turns: Sequence[str], positive: Sequence[str], negative: Sequence[str]) -> float:
        low, high = (
            sum(getattr(self, mode)(turns, text) for text in texts) / max(len(texts), 1)
            for texts in (negative, positive)
        )
        return float(low - high)
