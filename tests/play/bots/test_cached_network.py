"""A language model with its cache, compared with the same model that reads each row alone and at once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from interloq.play.bots.cached_network import CachedNetwork
from tests.play.made_writers import hf

PROMPTS = [[5, 6, 7, 8], [9, 10], [11, 12, 13, 5, 6]]
TARGETS = [[3, 4, 0], [7, 8, 9, 10, 11], [2]]
KINDS = ["gpt2", "llama", "t5"]


def _literal(network: CachedNetwork, prompt: list[int], target: list[int]) -> torch.Tensor:
    """Return the logits of the target's tokens, computed at once, without padding or a cache."""
    with torch.inference_mode():
        if network.with_encoder:
            ids = torch.tensor([[0, *target[:-1]]])
            return network.network(input_ids=torch.tensor([prompt]), decoder_input_ids=ids).logits[0]
        ids = torch.tensor([[*prompt, *target[:-1]]])
        return network.network(input_ids=ids).logits[0, len(prompt) - 1 :]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_any_length_share_a_batch(folders: dict[str, Path], kind: str) -> None:
    """Rows leave, change places and are repeated; each keeps its own logits."""
    network = CachedNetwork(hf(folders[kind])._writer.network, 0)
    with torch.inference_mode():
        state, logits = network.start(PROMPTS)
        for row, (prompt, target) in enumerate(zip(PROMPTS, TARGETS, strict=True)):
            torch.testing.assert_close(logits[row], _literal(network, prompt, target)[0], atol=1e-4, rtol=0)
        state = network.select(state, torch.tensor([1, 0, 1]))
        state, logits = network.step(state, torch.tensor([7, 3, 5]))
        torch.testing.assert_close(logits[0], _literal(network, PROMPTS[1], TARGETS[1])[1], atol=1e-4, rtol=0)
        torch.testing.assert_close(logits[1], _literal(network, PROMPTS[0], TARGETS[0])[1], atol=1e-4, rtol=0)
        state = network.select(state, torch.tensor([0]))
        state, logits = network.step(state, torch.tensor([8]))
        torch.testing.assert_close(logits[0], _literal(network, PROMPTS[1], TARGETS[1])[2], atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_are_those_of_rows_alone(folders: dict[str, Path], kind: str) -> None:
    network = CachedNetwork(hf(folders[kind])._writer.network, 0)
    expected = []
    for prompt, target in zip(PROMPTS, TARGETS, strict=True):
        chances = _literal(network, prompt, target).log_softmax(-1)
        expected.append(float(chances.gather(1, torch.tensor(target)[:, None]).sum()))
    with torch.inference_mode():
        assert network.log_probabilities(list(zip(PROMPTS, TARGETS, strict=True))) == pytest.approx(expected, abs=1e-3)
