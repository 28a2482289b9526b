"""Packed rows: laid out as padded ones are, and read alike by networks of several kinds, with equal gradients."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from interloq.models.cross_encoder import CrossEncoder
from interloq.models.packing import ATTENTION, packed_attention
from interloq.models.token_rows import SPARE, Packed, Rows, rounded
from tests.made_lm import tiny_lm

CPU = torch.device("cpu")
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16}
ENCODERS = ("bert", "roberta", "distilbert", "electra", "albert")
PAD = 1  # of RoBERTa, which counts positions by it
LENGTHS = (5, 1, 30, 12)


def made_rows(lengths: tuple[int, ...] = LENGTHS, seed: int = 0) -> Rows:
    made = torch.Generator().manual_seed(seed)
    inside = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).int()
    ids = torch.randint(2, 90, inside.shape, generator=made, dtype=torch.int32)
    return Rows(torch.where(inside.bool(), ids, PAD), inside, (ids % 2) * inside)


def encoder(kind: str) -> CrossEncoder:
    sizes: dict[str, Any] = SIZES
    if kind == "distilbert":
        sizes = {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 16}
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(kind, vocab_size=100, max_position_embeddings=40, **sizes)
    return CrossEncoder(transformers.AutoModel.from_config(config), 2)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(0, 2))
def test_rows_are_packed_end_to_end(lengths: list[int], start: int) -> None:
    rows = made_rows(tuple(lengths))
    packed = rows.packed(start)
    tokens, ends = sum(lengths), packed.ends.tolist()
    assert packed.ids.shape == packed.positions.shape == packed.kinds.shape == (1, rounded(tokens))
    for i, length in enumerate(lengths):
        own = slice(ends[i], ends[i + 1])
        assert packed.ids[0, own].tolist() == rows.ids[i, :length].tolist()
        assert packed.kinds[0, own].tolist() == rows.kinds[i, :length].tolist()
        assert packed.positions[0, own].tolist() == list(range(start, start + length))
    assert (packed.first.tolist(), packed.last.tolist()) == (
        ends[: len(lengths)],
        [end - 1 for end in ends[1:]][: len(lengths)],
    )
    assert ends == sorted(ends)
    assert ends[-1] == rounded(tokens), "every token is in a row"
    assert max(b - a for a, b in pairwise(ends)) <= packed.longest
    assert set(packed.positions[0, tokens:].tolist()) <= {start}


def test_few_shapes_occur() -> None:
    sizes = {rounded(count) for count in range(4096, 32769)}
    assert len(sizes) <= 50
    assert all(count <= rounded(count) <= max(count + SPARE, 1.0626 * count) for count in range(1, 32769, 11))


@pytest.mark.parametrize("kind", [*ENCODERS, "gpt2", "llama"])
def test_logits_and_gradients_are_those_of_padded_rows(tmp_path: Path, kind: str) -> None:
    network = encoder(kind) if kind in ENCODERS else CrossEncoder.pretrained(tiny_lm(tmp_path, kind), 2)
    network.eval()
    rows = made_rows()
    logits, gradients = outputs(network, rows)
    before = network.encoder.config._attn_implementation
    with network.packing.tried(CPU) as works:
        assert works
        packed = network.packing.laid_out(rows)
        assert isinstance(packed, Packed)
        found, slopes = outputs(network, packed)
    assert torch.allclose(found, logits, atol=1e-5)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(slopes, gradients, strict=True))
    assert network.encoder.config._attn_implementation == before
    assert network.packing.laid_out(rows) is rows


def outputs(network: CrossEncoder, rows: Rows | Packed) -> tuple[torch.Tensor, list[torch.Tensor]]:
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
        with network.packing.tried(CPU) as works:
            assert not works
            assert network.packing.laid_out(rows := made_rows()) is rows
        assert network.encoder.config._attn_implementation == before
        assert network.training
    network = encoder("bert")
    monkeypatch.setattr(network.packing, "start", 3)  # positions of another kind of network
    with network.packing.tried(CPU) as works:
        assert not works


def test_attention_is_registered_with_transformers() -> None:
    assert transformers.AttentionInterface()[ATTENTION] is packed_attention
