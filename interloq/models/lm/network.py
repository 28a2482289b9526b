# SPDX-License-Identifier: Apache-2.0
"""Base of all language models: loading, signature, and handling of insufficient memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch

from interloq.errors import InputError
from interloq.models.lm.turns import Layout, Turns, TurnTokens
from interloq.models.memory import Result, read_in_parts
from interloq.models.pretrained import (
    Precision,
    check_fit,
    load_network,
    load_tokenizer,
    model_folder,
    pick_precision,
    tokenizer_fingerprint,
    weights_fingerprint,
)
from interloq.models.processes import pick_device

TOKENS = 2048  # per batch, padding included: each token has one logit per word of the vocabulary
TEMPLATE = "chat_template.jinja"
LONGEST = 512  # tokens of context and continuation together
UNLIMITED = 1 << 30


class LoadedModel:
    """A language model from a folder, an installed package or `hub:org/name@revision`; see `models.pretrained`."""

    kind: ClassVar[Any]  # one of transformers' `AutoModel…` classes
    hint: ClassVar[str]  # for the error if the folder has another kind of model
    fewest: ClassVar[int]  # tokens that must fit

    def __init__(
        self,
        name: str,
        *,
        device: str = "auto",
        precision: Precision = "auto",
        longest: int = LONGEST,
        tokens: int = TOKENS,
    ) -> None:
        self.folder, self.tokens, self.device = model_folder(name), tokens, pick_device(device)
        self.precision = pick_precision(precision, self.device)
        self._tokenizer = load_tokenizer(self.folder)
        self._model = load_network(self.folder, self.kind, hint=self.hint).eval()
        check_fit(self._tokenizer.vocab_size, self._model, self.folder)
        self.longest = min(longest, getattr(self._model.config, "max_position_embeddings", None) or longest)
        if self.longest < self.fewest:
            raise InputError(f"longest must be at least {self.fewest}, got {longest}")
        self._inspect()
        self._model.to(self.device, self.precision)

    def _inspect(self) -> None:
        """Examine the network before it is moved, on the CPU and in float32."""

    def signature(self) -> str:
        """Identifies weights, tokenizer and template, independent of location, and all that likelihoods depend on."""
        files = [weights_fingerprint(self.folder), tokenizer_fingerprint(self.folder, TEMPLATE)]
        parts = [self._model.config.model_type, *files, str(self.longest)]
        if self.precision != torch.float32:
            parts.append(str(self.precision).removeprefix("torch."))
        return "-".join(parts)

    def context_lengths(self, dialogues: Sequence[Turns], *, layout: Layout) -> list[int]:
        """Tokens of each dialogue before the next turn, if nothing were truncated."""
        turns = TurnTokens(self._tokenizer, layout, where=str(self.folder))
        return [len(context) for context in turns.contexts(dialogues, UNLIMITED)]

    def _in_parts(self, work: Callable[[slice], Result], lengths: Sequence[int]) -> list[Result]:
        """Results of `work` on texts of these lengths, read in parts if memory runs out."""
        return read_in_parts(self, work, len(lengths), lambda: f"one text of {max(lengths)} tokens")
