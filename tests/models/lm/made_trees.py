"""A small language model, plain and literal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
import transformers

KINDS = ["gpt2", "llama", "gemma2", "bloom"]  # bloom counts positions itself, so it reads no trees
DIALOGUES = [
    ("how was it ?", "it was a very good day ."),
    ("how was it ?", "it was a very good day .", "no idea", "sorry ."),
    ("how was it ?", "it was a very good day .", "we saw the film"),
    ("how was it ?", "日本語 🙂"),
    (),
    ("how was it ?",),
    ("how was it ?", "it was a very good day ."),
]
FOLLOW_UPS = ["no idea , sorry .", "no idea", "no", "it was good", "x", "日本"]


class Literal:
    """Every text on its own, every token from the logits before it."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def numbers(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def before(self, turns: Sequence[str], layout: str) -> list[int]:
        row = [self.tokenizer.bos_token_id]
        for turn in turns:
            row += [*self.numbers(turn), self.tokenizer.eos_token_id] if layout == "eos" else self.numbers(turn + "\n")
        return row

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def said(self, row: list[int], start: int) -> float:
        logits = self.model(torch.tensor([row])).logits[0].double()
        return sum(float(torch.log_softmax(logits[i - 1], dim=0)[row[i]]) for i in range(start, len(row)))

    def follow_ups(self, layout: str) -> list[list[float]]:
        rows = [self.before(turns, layout) for turns in DIALOGUES]
        return [[self.said(row + self.numbers(text), len(row)) for text in FOLLOW_UPS] for row in rows]
