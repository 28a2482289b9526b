"""Packed texts against torch's own GRU, one text at a time."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_sequence

from interloq.learn.gru import SentenceGru, packing

LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=9)
SIZE = 11


def texts_of(lengths: list[int], seed: int = 0) -> list[torch.Tensor]:
    drawn = torch.Generator().manual_seed(seed)
    return [torch.randint(SIZE, (n,), generator=drawn) for n in lengths]


def network() -> SentenceGru:
    torch.manual_seed(3)
    return SentenceGru(vocabulary=SIZE, embedding=5, hidden=4)


def literal(network: SentenceGru, text: torch.Tensor) -> torch.Tensor:
    """The states after the last step of either direction, from the outputs of one unpadded run."""
    steps, _ = network.gru(network.embedding(text)[:, None])
    return torch.cat([steps[-1, 0, :4], steps[0, 0, 4:]])


@given(lengths=LENGTHS)
def test_packing_is_that_of_torch(lengths: list[int]) -> None:
    texts = texts_of(lengths)
    places, sizes, order = packing(torch.tensor(lengths))
    expected = pack_sequence(texts, enforce_sorted=False)
    assert sizes.tolist() == expected.batch_sizes.tolist()
    assert torch.cat(texts)[places].tolist() == expected.data.tolist()
    assert [lengths[i] for i in order] == sorted(lengths, reverse=True)


@settings(deadline=None)
@given(lengths=LENGTHS, seed=st.integers(0, 99))
def test_vectors_are_those_of_one_text_at_a_time(lengths: list[int], seed: int) -> None:
    texts, made = texts_of(lengths, seed), network()
    with torch.inference_mode():
        found = made(torch.cat(texts), torch.tensor(lengths))
        assert found.shape == (len(texts), 8)
        for vector, text in zip(found, texts, strict=True):
            np.testing.assert_allclose(vector, literal(made, text), atol=1e-6)


@settings(deadline=None)
@given(lengths=LENGTHS, seed=st.integers(0, 99))
def test_neither_order_nor_company_matters(lengths: list[int], seed: int) -> None:
    texts, made = texts_of(lengths, seed), network()
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(seed))
    with torch.inference_mode():
        alone = torch.cat([made(text, torch.tensor([len(text)])) for text in texts])
        turned = made(torch.cat([texts[i] for i in order]), torch.tensor(lengths)[order])
    np.testing.assert_allclose(turned, alone[order], atol=1e-6)


def test_gradients_reach_every_text() -> None:
    texts, made = texts_of([3, 1, 5]), network()
    made(torch.cat(texts), torch.tensor([3, 1, 5])).sum().backward()
    used = torch.unique(torch.cat(texts))
    assert (made.embedding.weight.grad.abs().sum(dim=1) > 0).nonzero()[:, 0].tolist() == used.tolist()
