"""What all language models share here: how they are loaded, what they are called, and what they do without memory."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from interloq.errors import InputError
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

TOKENS = 2048  # in a batch, padding included: each has a number for every word of the vocabulary
TEMPLATE = "chat_template.jinja"
LONGEST = 512  # tokens of context and continuation together


class LoadedModel:
    """`name` is a folder, an installed package or `hub:org/name@revision`; see `models.pretrained`."""

    kind: ClassVar[Any]  # one of transformers' `AutoModel…` classes
    hint: ClassVar[str]  # where the folder holds something else
    fewest: ClassVar[int]  # tokens that must have room

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
        self._look()
        self._model.to(self.device, self.precision)

    def _look(self) -> None:
        """At the network as it came, on the processor and in float32."""

    def signature(self) -> str:
        """Names weights, tokenizer and template, wherever they lie, and all that likelihoods depend on."""
        made_of = [weights_fingerprint(self.folder), tokenizer_fingerprint(self.folder, TEMPLATE)]
        parts = [self._model.config.model_type, *made_of, str(self.longest)]
        if self.precision != torch.float32:
            parts.append(str(self.precision).removeprefix("torch."))
        return "-".join(parts)

    def _no_memory(self, length: int) -> InputError:
        return InputError(
            f"no memory for one text of {length} tokens on {self.device}", hint="use a smaller model, or --device cpu"
        )

    def _halve(self) -> None:
        self.tokens = max(1, self.tokens // 2)  # later batches are smaller from the start
