"""Packed rows: laid out as padded ones are, and read alike by networks of several kinds, with equal gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from interloq.models.cross_encoder import CrossEncoder
from interloq.models.packing import ATTENTION, packed_attention
from interloq.models.token_rows import Packed, TokenRows
from tests.made_lm import tiny_lm
from tests.models.made_rows import made_rows

CPU = torch.device("cpu")
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16}
ENCODERS = ("bert", "roberta", "distilbert", "electra", "albert")


def encoder(kind: str) -> CrossEncoder:
    sizes: dict[str, Any] = SIZES
    if kind == "distilbert":
        sizes = {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 16}
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(kind, vocab_size=100, max_position_embeddings=40, **sizes)
    return CrossEncoder(transformers.AutoModel.from_config(config), 2)


@pytest.mark.parametrize("kind", [*ENCODERS, "gpt2", "llama"])
def test_logits_and_gradients_are_those_of_padded_rows(tmp_path: Path, kind: str) -> None:
    network = encoder(kind) if kind in ENCODERS else CrossEncoder.pretrained(tiny_lm(tmp_path, kind), 2)
    network.eval()
    rows = made_rows()
    logits, gradients = outputs(network, rows)
    before = network.encoder.config._attn_implementation
    with network.packing.enable(CPU) as works:
        assert works
        packed = network.packing.arrange(rows)
        assert isinstance(packed, Packed)
        found, slopes = outputs(network, packed)
    assert torch.allclose(found, logits, atol=1e-5)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(slopes, gradients, strict=True))
    assert network.encoder.config._attn_implementation == before
    assert network.packing.arrange(rows) is rows


def outputs(network: CrossEncoder, rows: TokenRows | Packed) -> tuple[torch.Tensor, list[torch.Tensor]]:
    network.zero_grad(set_to_none=False)
    logits = network(rows)
    (logits * torch.tensor([1.0, -2.0])).sum().backward()
    return logits.detach(), [p.grad.clone() for p in network.parameters() if p.grad is not None]


def test_a_network_that_reads_packed_rows_otherwise_stays_padded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention of MPNet depends on the distance of tokens in the batch, and Mistral's has a window."""
    config = transformers.AutoConfig.for_model("mpnet", vocab_size=100, max_position_embeddings=40, **SIZES)
    window = {"num_key_value_heads": 2, "sliding_window": 4}
    mistral = transformers.AutoConfig.for_model("mistral", vocab_size=100, **SIZES, **window)
    for made in (config, mistral):
        network = CrossEncoder(transformers.AutoModel.from_config(made), 2)
        before = network.encoder.config._attn_implementation
        with network.packing.enable(CPU) as works:
            assert not works
            assert network.packing.arrange(rows := made_rows()) is rows
        assert network.encoder.config._attn_implementation == before
        assert network.training
    network = encoder("bert")
    monkeypatch.setattr(network.packing, "start", 3)  # positions of another kind of network
    with network.packing.enable(CPU) as works:
        assert not works


def test_attention_is_registered_with_transformers() -> None:
    assert transformers.AttentionInterface()[ATTENTION] is packed_attention
