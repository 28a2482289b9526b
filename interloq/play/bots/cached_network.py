# SPDX-License-Identifier: Apache-2.0
"""A language model of Hugging Face with its cache, as `interloq.play.decoding` reads networks."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class CachedState:
    """What the model has read: its cache, and which tokens of each row are not padding."""

    cache: Any
    mask: torch.Tensor
    encoded: torch.Tensor | None = None  # what the decoder reads, with an encoder


class CachedNetwork:
    """A causal model or an encoder-decoder whose rows are lists of tokens. A state can be used only once."""

    def __init__(self, network: Any, end: int) -> None:
        self.network, self.end = network, end
        self.with_encoder = bool(network.config.is_encoder_decoder)
        keeps = "logits_to_keep" in inspect.signature(network.forward).parameters
        self._last_only = {"logits_to_keep": 1} if keeps else {}  # those of a whole prompt would fill the memory

    def start(self, rows: Sequence[Sequence[int]]) -> tuple[CachedState, torch.Tensor]:
        """Read the prompts; an encoder reads them, and the decoder starts with its first token."""
        ids, mask = pad_rows(rows, left=not self.with_encoder)
        ids, mask = ids.to(self.network.device), mask.to(self.network.device)
        if not self.with_encoder:
            positions = (mask.cumsum(-1) - 1).clamp_min(0)
            return self._read(CachedState(None, mask), input_ids=ids, attention_mask=mask, position_ids=positions)
        encoded = self.network.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        settings = self.network.generation_config
        first = settings.decoder_start_token_id
        first = settings.bos_token_id if first is None else first
        starts = torch.full((len(rows), 1), first, device=ids.device)
        return self._read_decoder(CachedState(None, mask, encoded), starts)

    def step(self, state: CachedState, tokens: torch.Tensor) -> tuple[CachedState, torch.Tensor]:
        """Read one more token per row."""
        if state.encoded is not None:
            return self._read_decoder(state, tokens[:, None])
        mask = torch.cat([state.mask, torch.ones_like(state.mask[:, :1])], dim=1)
        positions = mask.sum(-1, keepdim=True) - 1
        return self._read(
            replace(state, mask=mask), input_ids=tokens[:, None], attention_mask=mask, position_ids=positions
        )

    def select(self, state: CachedState, rows: torch.Tensor) -> CachedState:
        """Return the state of these rows; the cache is changed in place."""
        state.cache.reorder_cache(rows)
        encoded = None if state.encoded is None else state.encoded[rows]
        return replace(state, mask=state.mask[rows], encoded=encoded)

    def log_probabilities(self, rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[float]:
        """Return log p(target | prompt) of each row, a prompt and a target."""
        prompts, targets = [list(prompt) for prompt, _ in rows], [list(target) for _, target in rows]
        state, logits = self.start(prompts)
        ids, mask = pad_rows([target or [0] for target in targets], left=False)
        ids, mask = ids.to(logits.device), mask.to(logits.device)
        for i, target in enumerate(targets):
            mask[i, len(target) :] = 0
        every = [logits[:, None]]
        if ids.shape[1] > 1:
            every.append(self._read_more(state, ids[:, :-1], mask[:, :-1]))
        chances = torch.cat(every, dim=1).float().log_softmax(-1).gather(2, ids[..., None])[..., 0]
        sums: list[float] = (chances * mask).sum(-1).tolist()
        return sums

    def _read_more(self, state: CachedState, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the logits after each of further tokens, which are padded on the right."""
        if state.encoded is not None:
            output = self.network(
                encoder_outputs=(state.encoded,),
                attention_mask=state.mask,
                decoder_input_ids=ids,
                past_key_values=state.cache,
                use_cache=True,
            )
            return output.logits
        whole = torch.cat([state.mask, torch.ones_like(mask)], dim=1)
        positions = (whole.cumsum(-1) - 1)[:, -ids.shape[1] :]
        output = self.network(
            input_ids=ids, attention_mask=whole, position_ids=positions, past_key_values=state.cache, use_cache=True
        )
        return output.logits

    def _read_decoder(self, state: CachedState, tokens: torch.Tensor) -> tuple[CachedState, torch.Tensor]:
        return self._read(state, encoder_outputs=(state.encoded,), attention_mask=state.mask, decoder_input_ids=tokens)

    def _read(self, state: CachedState, **inputs: Any) -> tuple[CachedState, torch.Tensor]:
        output = self.network(**inputs, **self._last_only, past_key_values=state.cache, use_cache=True)
        logits = output.logits[:, -1].float()
        if self.network.generation_config.suppress_tokens:  # such as speakers
            logits[:, self.network.generation_config.suppress_tokens] = -torch.inf
        return replace(state, cache=output.past_key_values), logits


def pad_rows(rows: Sequence[Sequence[int]], *, left: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and attention mask; a causal model's rows grow on the right, so they are padded on the left."""
    longest = max(map(len, rows))
    ids, mask = (torch.zeros((len(rows), longest), dtype=torch.long) for _ in range(2))
    for i, row in enumerate(rows):
        own = slice(longest - len(row), None) if left else slice(len(row))
        ids[i, own], mask[i, own] = torch.tensor(list(row)), 1
    return ids, mask
