# SPDX-License-Identifier: Apache-2.0
"""BERT, MPNet and Llama networks that only score: the packaged scorers need no transformers.

Importing transformers takes longer than importing torch and reading a small network together. The modules have the
names of transformers' own, so the same weights and low-rank updates fit. There is no dropout and no packing: networks
that are trained come from transformers, and so do networks whose configuration asks for more than is computed here.

BERT (Devlin et al., 2019) and MPNet (Song et al., 2020) are encoders with layer norm after each sum; MPNet adds a bias
for the distance of two tokens to their attention. Llama (Touvron et al., 2023) is a language model with rotary
positions, whose rows must be padded at the end: a token sees only earlier ones, so padding needs no mask.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional

# settings that change what a network computes, with the values that are computed here; other values are refused
BERT = {"hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}
MPNET = {"hidden_act": "gelu"}
LLAMA = {
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "rope_scaling": None,
    "rope_parameters": None,
    "pretraining_tp": 1,
}
FARTHEST = 128  # tokens from which on all distances are the same to MPNet
Config = Any


class Linear(nn.Linear):  # type: ignore[misc]
    """A linear layer whose weights will be loaded: no random numbers are drawn, and no memory is written."""

    def reset_parameters(self) -> None:
        """Leave the weights as they are."""


class Embedding(nn.Embedding):  # type: ignore[misc]
    """A table of embeddings that will be loaded, as `Linear`."""

    def reset_parameters(self) -> None:
        """Leave the embeddings as they are."""


class ScoringNetwork(nn.Module):  # type: ignore[misc]
    """What the networks below have in common; `config` has the settings of `config.json` as attributes."""

    causal = False
    prefix = ""  # of the names of weights in the files of a network with a head

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config

    @property
    def base_model(self) -> ScoringNetwork:
        """The network itself; networks of transformers may have a head around it."""
        return self

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the table of word vectors."""
        raise NotImplementedError


class PostNormEncoder(ScoringNetwork):
    """An encoder with layer norm after each sum; subclasses name the parts of its layers."""

    names: ClassVar[Mapping[str, str]]
    padding: int | None = None  # RoBERTa-like networks count positions from the padding index + 1

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        size, norm = config.hidden_size, {"eps": config.layer_norm_eps}
        self.embeddings, self.encoder = nn.Module(), nn.Module()
        self.embeddings.word_embeddings = Embedding(config.vocab_size, size)
        self.embeddings.position_embeddings = Embedding(config.max_position_embeddings, size, padding_idx=self.padding)
        self.embeddings.LayerNorm = nn.LayerNorm(size, **norm)
        self.encoder.layer = nn.ModuleList()
        for _ in range(config.num_hidden_layers):
            layer = nn.Module()
            for part in ("query", "key", "value", "out"):
                _add(layer, self.names[part], Linear(size, size))
            _add(layer, self.names["norm"], nn.LayerNorm(size, **norm))
            _add(layer, "intermediate.dense", Linear(size, config.intermediate_size))
            _add(layer, "output.dense", Linear(config.intermediate_size, size))
            _add(layer, "output.LayerNorm", nn.LayerNorm(size, **norm))
            self.encoder.layer.append(layer)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings.word_embeddings

    def forward(
        self,
        *,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        output_hidden_states: bool = False,
    ) -> SimpleNamespace:
        """Return an object with `last_hidden_state` [rows, tokens, dimensions], and with those of all layers if asked.

        They are in `hidden_states`, with the sum of the embeddings first.
        """
        states = self.embeddings.LayerNorm(self._embed(input_ids, token_type_ids))
        by_layer = [states]
        mask = self._mask(attention_mask)
        for layer in self.encoder.layer:
            query, key, value = (
                _split_heads(layer.get_submodule(self.names[part])(states), self.config.num_attention_heads)
                for part in ("query", "key", "value")
            )
            seen = _join_heads(functional.scaled_dot_product_attention(query, key, value, attn_mask=mask))
            attended = layer.get_submodule(self.names["out"])(seen)
            states = layer.get_submodule(self.names["norm"])(attended + states)
            inner = functional.gelu(layer.intermediate.dense(states))
            states = layer.output.LayerNorm(layer.output.dense(inner) + states)
            if output_hidden_states:
                by_layer.append(states)
        return SimpleNamespace(last_hidden_state=states, hidden_states=by_layer if output_hidden_states else None)

    def _embed(self, ids: torch.Tensor, kinds: torch.Tensor | None) -> torch.Tensor:
        """Return the sum of the embeddings of each token."""
        raise NotImplementedError

    def _mask(self, inside: torch.Tensor) -> torch.Tensor | None:
        """Return which tokens may be seen, or what is added to their attention."""
        if bool(inside.all()):
            return None
        return inside[:, None, None, :].bool()


class Bert(PostNormEncoder):
    """BERT, with token types."""

    names: ClassVar[Mapping[str, str]] = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "out": "attention.output.dense",
        "norm": "attention.output.LayerNorm",
    }
    prefix = "bert."

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.embeddings.token_type_embeddings = Embedding(config.type_vocab_size, config.hidden_size)

    def _embed(self, ids: torch.Tensor, kinds: torch.Tensor | None) -> torch.Tensor:
        parts, positions = self.embeddings, torch.arange(ids.shape[1], device=ids.device)
        if kinds is None:
            kinds = torch.zeros_like(ids)
        embedded: torch.Tensor = parts.word_embeddings(ids) + parts.token_type_embeddings(kinds)
        return embedded + parts.position_embeddings(positions)


class MPNet(PostNormEncoder):
    """MPNet, with a bias for the distance of two tokens, which all layers share."""

    names: ClassVar[Mapping[str, str]] = {
        "query": "attention.attn.q",
        "key": "attention.attn.k",
        "value": "attention.attn.v",
        "out": "attention.attn.o",
        "norm": "attention.LayerNorm",
    }
    prefix = "mpnet."
    padding = 1

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.encoder.relative_attention_bias = Embedding(
            config.relative_attention_num_buckets, config.num_attention_heads
        )

    def _embed(self, ids: torch.Tensor, kinds: torch.Tensor | None) -> torch.Tensor:  # noqa: ARG002
        own = (ids != self.padding).long()
        embedded: torch.Tensor = self.embeddings.word_embeddings(ids)
        return embedded + self.embeddings.position_embeddings(own.cumsum(dim=1) * own + self.padding)

    def _mask(self, inside: torch.Tensor) -> torch.Tensor:
        places = torch.arange(inside.shape[1], device=inside.device)
        bias = self.encoder.relative_attention_bias(self._distance_classes(places[:, None] - places))
        hidden = ~inside[:, None, None, :].bool()
        return bias.permute(2, 0, 1)[None].masked_fill(hidden, -torch.inf)

    def _distance_classes(self, back: torch.Tensor) -> torch.Tensor:
        """Return the class of each distance: half of the classes look back, and half of each half are exact."""
        half = self.config.relative_attention_num_buckets // 2
        exact, far = half // 2, back.abs().clamp_min(1).float()
        growth = torch.log(far / exact) / math.log(FARTHEST / exact) * (half - exact)
        classes = torch.where(back.abs() < exact, back.abs(), (exact + growth.long()).clamp_max(half - 1))
        return classes + half * (back < 0)


class Llama(ScoringNetwork):
    """A Llama without the layer that predicts tokens."""

    causal = True
    prefix = "model."

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        size, norm = config.hidden_size, {"eps": config.rms_norm_eps}
        self.head_size = getattr(config, "head_dim", None) or size // config.num_attention_heads
        keys = config.num_key_value_heads * self.head_size
        self.embed_tokens = Embedding(config.vocab_size, size)
        self.layers = nn.ModuleList()
        for _ in range(config.num_hidden_layers):
            layer = nn.Module()
            queries = config.num_attention_heads * self.head_size
            for part, sizes in {
                "self_attn.q_proj": (size, queries),
                "self_attn.k_proj": (size, keys),
                "self_attn.v_proj": (size, keys),
                "self_attn.o_proj": (queries, size),
                "mlp.gate_proj": (size, config.intermediate_size),
                "mlp.up_proj": (size, config.intermediate_size),
                "mlp.down_proj": (config.intermediate_size, size),
            }.items():
                _add(layer, part, Linear(*sizes, bias=False))
            layer.input_layernorm = nn.RMSNorm(size, **norm)
            layer.post_attention_layernorm = nn.RMSNorm(size, **norm)
            self.layers.append(layer)
        self.norm = nn.RMSNorm(size, **norm)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embed_tokens

    def forward(
        self,
        *,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,  # noqa: ARG002
        use_cache: bool = False,  # noqa: ARG002
    ) -> SimpleNamespace:
        """Return an object with `last_hidden_state` [rows, tokens, dimensions]; padding must follow the tokens."""
        states, rotation = self.embed_tokens(input_ids), self._rotation(input_ids)
        config = self.config
        shared = config.num_attention_heads // config.num_key_value_heads
        for layer in self.layers:
            own = layer.input_layernorm(states)
            query = _rotate(_split_heads(layer.self_attn.q_proj(own), config.num_attention_heads), rotation)
            key = _rotate(_split_heads(layer.self_attn.k_proj(own), config.num_key_value_heads), rotation)
            value = _split_heads(layer.self_attn.v_proj(own), config.num_key_value_heads)
            key, value = key.repeat_interleave(shared, dim=1), value.repeat_interleave(shared, dim=1)
            seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            states = states + layer.self_attn.o_proj(_join_heads(seen))
            own = layer.post_attention_layernorm(states)
            inner = functional.silu(layer.mlp.gate_proj(own)) * layer.mlp.up_proj(own)
            states = states + layer.mlp.down_proj(inner)
        return SimpleNamespace(last_hidden_state=self.norm(states))

    def _rotation(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cosines and sines of each position's angles [tokens, size of a head]."""
        steps = torch.arange(0, self.head_size, 2, device=ids.device).float() / self.head_size
        angles = torch.arange(ids.shape[1], device=ids.device)[:, None] / self.config.rope_theta**steps
        angles = torch.cat([angles, angles], dim=1)
        return angles.cos(), angles.sin()


NETWORKS: dict[str, tuple[type[ScoringNetwork], dict[str, Any]]] = {
    "bert": (Bert, BERT),
    "mpnet": (MPNet, MPNET),
    "llama": (Llama, LLAMA),
}


def build_network(settings: Mapping[str, Any]) -> ScoringNetwork | None:
    """Return the network of a `config.json`, with weights still to be loaded; None if it is not one of those above."""
    kind, computed = NETWORKS.get(str(settings.get("model_type")), (None, {}))
    if kind is None or any(settings.get(name, value) != value for name, value in computed.items()):
        return None
    try:
        return kind(SimpleNamespace(**settings))
    except AttributeError:  # settings for which transformers has defaults
        return None


def fit_names(network: ScoringNetwork, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors of a file under the network's names, without those of heads and poolers."""
    own = network.state_dict()
    fitting = {name.removeprefix(network.prefix): tensor for name, tensor in names.items()}
    return {name: tensor for name, tensor in fitting.items() if name in own}


def _add(layer: nn.Module, name: str, part: nn.Module) -> None:
    """Add a part under a name with dots."""
    *groups, last = name.split(".")
    for group in groups:
        if group not in layer._modules:
            layer.add_module(group, nn.Module())
        layer = layer.get_submodule(group)
    layer.add_module(last, part)


def _split_heads(states: torch.Tensor, heads: int) -> torch.Tensor:
    """Return [rows, heads, tokens, size of a head]."""
    return states.view(*states.shape[:2], heads, -1).transpose(1, 2)


def _join_heads(states: torch.Tensor) -> torch.Tensor:
    return states.transpose(1, 2).flatten(2)


def _rotate(states: torch.Tensor, rotation: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Rotate the two halves of each head by the angles of its position."""
    cosines, sines = rotation
    first, second = states.chunk(2, dim=-1)
    return states * cosines + torch.cat([-second, first], dim=-1) * sines
