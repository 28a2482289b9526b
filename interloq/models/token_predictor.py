# SPDX-License-Identifier: Apache-2.0
"""A pretrained network with the head that predicts tokens, as transformers builds it, ready for further training.

Model families differ in layout, but all go states → head → logits. A hook keeps only the states at the positions to be
predicted, so that the head, the most expensive part of a small network, runs on these alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import transformers
from safetensors import safe_open
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

from interloq.data.files.folders import find_matching
from interloq.data.files.opening import reading_saved
from interloq.errors import InputError
from interloq.models.packing import Packing
from interloq.models.pretrained import load_partly, read_config
from interloq.models.token_rows import Packed, TokenRows

Goal = Literal["mlm", "lm"]
CARRIED = ("pooler.", "seq_relationship.")  # parts of BERT that predict no tokens: kept unchanged
SPARE = 2  # positions that RoBERTa leaves unused
MOST = 2**12  # tokens of a text
KINDS = {"mlm": transformers.AutoModelForMaskedLM, "lm": transformers.AutoModelForCausalLM}


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """Ids of the special tokens in rows; without `start`, rows begin with the utterance."""

    start: int | None
    end: int
    pad: int
    special: tuple[int, ...]  # all of them, sorted: never masked or drawn
    mask: int = -1  # not used by language models
    size: int = 0  # random tokens are drawn below this

    @property
    def extra(self) -> int:
        """Number of special tokens in a row."""
        return 2 + (self.start is not None)


class TokenPredictor(torch.nn.Module):  # type: ignore[misc]
    """Computes logits [positions, vocabulary] at chosen positions. Shared weights are listed once in its state."""

    def __init__(self, model: Any, new: list[str]) -> None:
        super().__init__()
        self.model, self.new = model, new
        self.packing = Packing(model)
        cached = "use_cache" in inspect.signature(model.forward).parameters
        self._options = {"use_cache": False} if cached else {}  # nothing is generated after the row
        self._places: torch.Tensor | None = None
        model.base_model.register_forward_hook(self._only_places)

    def forward(self, rows: TokenRows | Packed, places: torch.Tensor) -> torch.Tensor:
        """Return the logits at the given positions: a mask [rows, tokens], or token numbers if packed."""
        self._places = places
        try:
            logits: torch.Tensor = self.model(**self.packing.options(rows), **self._options).logits
        finally:
            self._places = None
        return logits[0]

    def _only_places(self, _: Any, __: Any, output: Any) -> Any:
        if self._places is not None:
            states = output["last_hidden_state"]
            if self._places.dtype == torch.bool:  # padded rows
                kept = states[self._places]
            else:
                kept = states.squeeze(0).index_select(0, self._places)
            output["last_hidden_state"] = kept[None]
        return output

    def find_tied(self) -> dict[str, str]:
        """Return the name of each shared weight, with the name it is stored under."""
        first: dict[int, str] = {}
        tied = {}
        for name, parameter in self.named_parameters(remove_duplicate=False):
            stored_name = first.setdefault(id(parameter), name)
            if name != stored_name:
                tied[name] = stored_name
        return tied

    def state_dict(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Return the weights; a weight with several names is listed once."""
        tied = self.find_tied()
        state = super().state_dict(*arguments, **options)
        return {name: tensor for name, tensor in state.items() if name not in tied}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load weights under all their names."""
        shared = {name: state_dict[kept] for name, kept in self.find_tied().items() if kept in state_dict}
        return super().load_state_dict({**state_dict, **shared}, strict=strict, assign=assign)


def load_predictor(folder: Path, goal: Goal, *, seed: int) -> TokenPredictor:
    """Return the network with its head; a missing head is initialised at random from the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model, missing = load_partly(folder, KINDS[goal], hint="copy the complete model folder")
    prefix = f"{model.base_model_prefix}."
    lost = [name for name in missing if name.startswith(prefix) and not _is_carried(name)]
    if lost:
        raise InputError(
            f"{len(lost)} of the network's weights are missing, {lost[0]!r} first",
            hint="copy the complete model folder",
            where=str(folder),
        )
    return TokenPredictor(model, [name for name in missing if not name.startswith(prefix)])


def goal_of(folder: Path, objective: Goal | Literal["auto"]) -> Goal:
    """Return the training objective of a network: encoders predict masked tokens, language models the next token."""
    config = read_config(folder, hint="copy the complete model folder")
    both = {"mlm": MODEL_FOR_MASKED_LM_MAPPING, "lm": MODEL_FOR_CAUSAL_LM_MAPPING}
    can: list[Goal] = [goal for goal in ("mlm", "lm") if type(config) in both[goal]]
    if config.is_encoder_decoder or not can:
        raise InputError(
            f"models of type {config.model_type!r} cannot be adapted here",
            hint="use an encoder such as BERT, or a language model such as GPT-2",
            where=str(folder),
        )
    if objective != "auto" and objective not in can:
        raise InputError(
            f"models of type {config.model_type!r} cannot be trained with {objective}", hint=f"use objective {can[0]}"
        )
    if objective == "auto":
        return can[0]
    return objective


def special_tokens_of(tokenizer: Any, goal: Goal, where: Path) -> SpecialTokens:
    """Return the special tokens that rows need; the pad token may be missing, because padding is never read."""
    t = tokenizer
    need = {"cls": t.cls_token_id, "sep": t.sep_token_id, "mask": t.mask_token_id}
    if goal == "lm":
        need = {"eos": t.eos_token_id}
    for name, number in need.items():
        if number is None:
            raise InputError(f"the tokenizer has no {name} token", hint="use a model that has one", where=str(where))
    special, pad = tuple(sorted(t.all_special_ids)), t.pad_token_id or 0
    if goal == "lm":
        start = t.bos_token_id if t.bos_token_id != t.eos_token_id else None
        return SpecialTokens(start, t.eos_token_id, pad, special, size=len(t))
    return SpecialTokens(t.cls_token_id, t.sep_token_id, pad, special, mask=t.mask_token_id, size=len(t))


def room(config: Any, special_tokens: SpecialTokens) -> int:
    """Return the most tokens that each of two texts may have in a row."""
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return MOST
    return min(MOST, (int(positions) - SPARE - special_tokens.extra) // 2)


def read_carried_weights(folder: Path, prefix: str) -> dict[str, torch.Tensor]:
    """Return the folder's weights that predict no tokens, named as in a complete network."""
    carried_weights: dict[str, torch.Tensor] = {}
    for path in find_matching(folder, "*.safetensors"):
        with reading_saved(path), safe_open(path, framework="pt") as file:
            names = list(file.keys())
            added = f"{prefix}."
            if any(name.startswith(added) for name in names):
                added = ""
            for name in filter(_is_carried, names):
                carried_weights[added + name] = file.get_tensor(name)
    return carried_weights


def _is_carried(name: str) -> bool:
    return any(part in name for part in CARRIED)
