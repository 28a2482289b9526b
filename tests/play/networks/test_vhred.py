"""The equations of Serban et al. (2017), computed here one example at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from interloq.data.text.token_texts import Texts
from interloq.play.networks import vhred
from interloq.play.networks.network import END, SEPARATOR, Prompt, Targets, arrange_targets
from interloq.play.networks.vhred import Gaussian, VhredNetwork

LATENT = 3
CONTEXTS = [[[5, 6], [7]], [[8]], [[9, 5, 4], [6], [7, 7]]]
REPLIES = [[6, 7, END], [5, END], [9, 8, 4, END]]


@pytest.fixture
def network() -> VhredNetwork:
    torch.manual_seed(2)
    made = VhredNetwork(12, dimensions=8, layers=1, dropout=0.0, latent=LATENT, annealing=2.0, word_dropout=0.5)
    made.eval()
    return made


def make_batch(progress: float = 0.0) -> tuple[Any, Targets]:
    rows = []
    for turns in CONTEXTS:
        row: list[int] = []
        for turn in turns:
            row += [SEPARATOR, *turn]
        rows.append(row[1:])
    noise = np.linspace(-1, 1, len(REPLIES) * LATENT, dtype=np.float32).reshape(-1, LATENT)
    return VhredNetwork.arrange(Texts.of(rows)), arrange_targets(Texts.of(REPLIES), noise, progress)


def encode_turn(network: VhredNetwork, tokens: list[int]) -> torch.Tensor:
    """The last states of both directions of the utterance encoder."""
    _, last = network.utterances(network.embedding(torch.tensor(tokens))[:, None])
    return torch.cat([last[0, 0], last[1, 0]])


def test_divergence_is_the_closed_form() -> None:
    torch.manual_seed(0)
    means, variances = torch.randn(2, 5, 4), torch.rand(2, 5, 4) + 0.1
    ours = vhred.kl_divergence(Gaussian(means[0], variances[0]), Gaussian(means[1], variances[1]))
    theirs = kl_divergence(Normal(means[0], variances[0].sqrt()), Normal(means[1], variances[1].sqrt())).sum(-1)
    assert torch.allclose(ours, theirs, atol=1e-5)
    same = Gaussian(means[0], variances[0])
    assert torch.allclose(vhred.kl_divergence(same, same), torch.zeros(5), atol=1e-6)


def test_losses_are_the_two_terms_of_the_bound(network: VhredNetwork) -> None:
    source, targets = make_batch()
    assert targets.noise is not None
    with torch.inference_mode():
        losses = network.losses(source, targets)
        for i, (turns, reply) in enumerate(zip(CONTEXTS, REPLIES, strict=True)):
            vectors = torch.stack([encode_turn(network, [*turn, END]) for turn in turns])
            context = network.contexts(vectors[None])[0][0, -1]
            prior, posterior = (
                network.prior(context),
                network.posterior(torch.cat([context, encode_turn(network, reply)])),
            )
            latent = posterior.mean + posterior.variance.sqrt() * targets.noise[i]
            every = torch.cat([context, latent])
            hidden = torch.tanh(network.opening(every))[None, None]
            total = 0.0
            for before, token in zip([END, *reply], reply, strict=False):
                state = torch.cat([network.embedding.weight[before], every])[None, None]
                output, hidden = network.decoder(state, hidden)
                logits = network.embedding.weight @ torch.tanh(network.output(output[0, 0]))
                total -= float(logits.log_softmax(0)[token])
            assert float(losses.tokens[i]) == pytest.approx(total, abs=1e-4)
            normals = [Normal(each.mean, each.variance.sqrt()) for each in (posterior, prior)]
            assert losses.kl is not None
            assert float(losses.kl[i]) == pytest.approx(float(kl_divergence(*normals).sum()), abs=1e-5)


def test_the_weight_of_the_divergence_rises_in_training_only(network: VhredNetwork) -> None:
    for training, progress, weight in (
        (True, 0.0, 0.0),
        (True, 1.0, 0.5),
        (True, 2.0, 1.0),
        (True, 7.0, 1.0),
        (False, 0.0, 1.0),
    ):
        source, targets = make_batch(progress)
        network.train(training)
        with torch.inference_mode():
            losses = network.losses(source, targets)
            objective = network.objective(losses, targets)
        assert losses.kl is not None
        assert torch.allclose(objective, losses.tokens + weight * losses.kl)


def test_words_are_hidden_from_the_decoder_in_training_only(network: VhredNetwork) -> None:
    inputs = torch.randint(3, 12, (200, 10))
    assert torch.equal(network._drop_words(inputs), inputs)
    network.train()
    seen = network._drop_words(inputs)
    assert torch.equal(seen[:, 0], inputs[:, 0])
    assert set(seen[seen != inputs].tolist()) == {0}
    assert float((seen[:, 1:] == 0).float().mean()) == pytest.approx(0.5, abs=0.05)


def test_the_prior_gives_each_seed_its_own_reply(network: VhredNetwork) -> None:
    with torch.inference_mode():
        _, logits = network.start([Prompt([5, 6], seed) for seed in (1, 2, 1)])
    assert torch.allclose(logits[0], logits[2])
    assert not torch.allclose(logits[0, 3:], logits[1, 3:], atol=1e-3)


def test_turns_of_a_row_that_was_cut_at_the_front_are_read(network: VhredNetwork) -> None:
    source = network.arrange(Texts.of([[SEPARATOR, 5], [4, SEPARATOR, 5, 6], []]))
    assert source.counts.tolist() == [2, 2, 1]
    assert source.packed.sizes.tolist() == [5, 3, 1]  # turns of 1, 2, 2, 3 and 1 tokens
    assert source.tokens.tolist() == [END, 5, END, 4, END, 5, 6, END, END]
