"""What holds for every kind of network, trained and untrained: `lstm`, `conv`, `transformer`, `vhred`."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from interloq import create
from interloq.data.text.token_texts import Texts
from interloq.play.networks.model import ReplyModel, make_network
from interloq.play.networks.network import END, SEPARATOR, Prompt, ReplyNetwork, arrange_targets, draw_noise
from interloq.play.networks.settings import BotNetwork, BotReading
from tests.play.networks.made_copies import KINDS, open_dialogues, train_copies, write_log

VOCABULARY, ROWS = 30, 7


@pytest.fixture(scope="module", params=KINDS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ReplyModel, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    log = write_log(folder / "log.jsonl")
    return train_copies(folder / "bot", log, kind=request.param, **KINDS[request.param]), folder / "bot"


@pytest.fixture(params=KINDS)
def network(request: pytest.FixtureRequest) -> ReplyNetwork:
    torch.manual_seed(1)
    settings = BotNetwork(kind=request.param, dimensions=16, layers=2)
    made = make_network(VOCABULARY, settings, BotReading(context=24, reply=12))
    made.eval()
    return made


def make_rows(seed: int = 0, n: int = ROWS) -> list[list[int]]:
    """Contexts of one to three turns."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        row: list[int] = []
        for _ in range(rng.randint(1, 3)):
            row += [SEPARATOR, *rng.choices(range(3, VOCABULARY), k=rng.randint(1, 6))]
        rows.append(row[1:])
    return rows


def make_replies(seed: int = 5, n: int = ROWS) -> list[list[int]]:
    rng = random.Random(seed)
    return [rng.choices(range(3, VOCABULARY), k=rng.randint(1, 6)) for _ in range(n)]


def test_it_learns_to_answer_from_the_whole_context(trained: tuple[ReplyModel, Path]) -> None:
    _, folder = trained
    bot = create(f"seq2seq(model={str(folder)!r},temperature=0.0)", kind="bot")
    dialogues, right = open_dialogues(40)
    written = [reply.text for reply in bot.replies(dialogues, range(40))]
    for part in (slice(0, None, 2), slice(1, None, 2)):  # after the first turn, and after the third
        hits = sum(reply == true for reply, true in zip(written[part], right[part], strict=True))
        assert hits >= 10, list(zip(written[part], right[part], strict=True))


def test_right_replies_are_far_more_likely_than_wrong_ones(trained: tuple[ReplyModel, Path]) -> None:
    model, _ = trained
    dialogues, right = open_dialogues(40)
    wrong = [f"{text} jam" for text in right]
    margins = model.log_probabilities(dialogues, right) - model.log_probabilities(dialogues, wrong)
    assert np.median(margins) > 2
    assert np.exp(-model.log_probabilities(dialogues, right).mean()) < 40  # of the 10 + 100 + 1,000 that occur


def test_facts_measure_the_dev_part(trained: tuple[ReplyModel, Path]) -> None:
    facts = trained[0].facts
    counts, perplexity = facts["dev_counts"], facts["perplexity"]
    total = facts["loss_per_reply"] * counts["replies"]
    assert perplexity["token"] == pytest.approx(np.exp(total / counts["tokens"]))
    assert perplexity["word"] == pytest.approx(np.exp(total / counts["words"]))
    assert facts["best"]["dev_loss"] == pytest.approx(total / counts["tokens"], rel=0.02)  # before rounding weights
    assert ("kl" in facts) == (facts["config"]["network"]["kind"] == "vhred")
    assert facts["language"] == ""  # of ten words


def test_weights_are_stored_in_half_precision_and_loaded_exactly(trained: tuple[ReplyModel, Path]) -> None:
    model, folder = trained
    weights = sum(parameter.numel() for parameter in model.network.parameters())
    assert (folder / "model.safetensors").stat().st_size < 2 * weights + 10_000
    assert model.facts["weights_count"] == weights
    again = ReplyModel.load(folder, device="cpu")
    assert again.fingerprint == model.fingerprint
    dialogues, right = open_dialogues(6)
    assert np.array_equal(again.log_probabilities(dialogues, right), model.log_probabilities(dialogues, right))


def test_writing_token_by_token_gives_the_probabilities_of_training(network: ReplyNetwork) -> None:
    """Cached states against one pass over the whole reply. With a latent variable, decoding starts from one state."""
    rows, replies = make_rows(), make_replies()
    source = network.arrange(Texts.of(rows))
    seeds = list(range(ROWS))
    with torch.inference_mode():
        state = network.begin(network.encode(source), seeds)
        targets = arrange_targets(Texts.of([[*reply, END] for reply in replies]), np.zeros((ROWS, 0), dtype=np.float32))
        whole = network.logits(network.decode(state, targets.inputs))
        cached, logits = network.start([Prompt(row, seed) for row, seed in zip(rows, seeds, strict=True)])
        for step in range(targets.tokens.shape[1]):
            for token in range(3, VOCABULARY):
                assert torch.allclose(logits[:, token], whole[:, step, token], atol=2e-5)
            cached, logits = network.step(cached, targets.tokens[:, step].long())


def test_padding_and_neighbours_change_nothing(network: ReplyNetwork) -> None:
    rows, replies = make_rows(), make_replies()
    together = network.log_probabilities(rows, replies)
    alone = [network.log_probabilities([row], [reply])[0] for row, reply in zip(rows, replies, strict=True)]
    assert together == pytest.approx(alone, abs=1e-4)
    turned = network.log_probabilities(rows[::-1], replies[::-1])[::-1]
    assert together == pytest.approx(turned, abs=1e-4)


def test_every_turn_of_the_context_and_their_order_matter(network: ReplyNetwork) -> None:
    contexts = [[4, 5, SEPARATOR, 6, 7, SEPARATOR, 8], [4, 9, SEPARATOR, 6, 7, SEPARATOR, 8]]
    contexts += [[6, 7, SEPARATOR, 4, 5, SEPARATOR, 8], [4, 5, 6, 7, 8]]
    chances = network.log_probabilities(contexts, [[10, 11]] * len(contexts))
    assert len(set(chances.round(5))) == len(contexts)


def test_selected_states_continue_as_their_own_rows(network: ReplyNetwork) -> None:
    prompts = [Prompt(row, seed) for seed, row in enumerate(make_rows(n=4))]
    order = torch.tensor([2, 0, 2])
    token = torch.tensor([5, 6, 7, 8])
    with torch.inference_mode():
        state, _ = network.start(prompts)
        state, _ = network.step(state, token)
        _, every = network.step(state, token)
        _, some = network.step(network.select(state, order), token[order])
    assert torch.allclose(some[:, 3:], every[order][:, 3:], atol=2e-5)


def test_replies_never_contain_separators_and_are_never_empty(network: ReplyNetwork) -> None:
    with torch.inference_mode():
        state, first = network.start([Prompt([4, 5])])
        _, second = network.step(state, torch.tensor([7]))
    assert torch.isneginf(first[0, [0, 1, END]]).all()
    assert torch.isneginf(second[0, :2]).all()
    assert torch.isfinite(second[0, 2:]).all()


def test_noise_is_standard_normal_and_belongs_to_the_number() -> None:
    noise = draw_noise(np.arange(20_000), 3, seed=4)
    assert noise.mean(0) == pytest.approx(0, abs=0.03)
    assert np.cov(noise.T) == pytest.approx(np.eye(3), abs=0.04)
    assert np.array_equal(draw_noise(np.array([17, 3]), 3, seed=4), noise[[17, 3]])
    assert not np.array_equal(draw_noise(np.arange(5), 3, seed=5), noise[:5])
