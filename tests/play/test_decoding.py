"""Decoding, compared with every reply a small network could write, and with transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from interloq.errors import InputError
from interloq.play.decoding import choose_tokens, decode, keep_most_likely
from interloq.play.decoding_options import Decoding
from tests.play.made_tables import TableNetwork

ROWS, SEEDS = list(range(40)), list(range(100, 140))


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_many_beams_find_the_best_reply_of_all(length_penalty: float) -> None:
    """Two tokens are possible besides the end, so twelve beams hold every beginning of three tokens."""
    network = TableNetwork(words=12, live=2)
    decoding = Decoding(beams=12, length_penalty=length_penalty)
    found = decode(network, ROWS[:7], SEEDS[:7], decoding, 4, candidates=3)
    for row, candidates in enumerate(found):
        scores = {}
        for reply, (log_probability, length) in network.all_replies(row, 4).items():
            scores[reply] = log_probability / length**length_penalty
        best = max(scores, key=lambda reply: scores[reply])
        assert candidates[0].tokens == list(best)
        assert [candidate.score for candidate in candidates] == pytest.approx(
            [scores[tuple(candidate.tokens)] for candidate in candidates], abs=1e-4
        )
        assert candidates == sorted(candidates, key=lambda candidate: -candidate.score)


def test_the_most_likely_tokens_are_chosen_one_after_another() -> None:
    network = TableNetwork()
    for row, (reply,) in enumerate(decode(network, ROWS, SEEDS, Decoding(temperature=0.0), 6)):
        state, logits = network.start([row])
        expected: list[int] = []
        while len(expected) < 6 and int(logits.argmax()) != network.end:
            expected.append(int(logits.argmax()))
            state, logits = network.step(state, logits.argmax(-1))
        assert reply.tokens == expected
        ended = [*expected, network.end] if len(expected) < 6 else expected
        assert reply.log_probability == pytest.approx(network.log_probability(row, ended), abs=1e-4)


@pytest.mark.parametrize(
    "decoding",
    [Decoding(), Decoding(top_k=2, top_p=0.8), Decoding(beams=4), Decoding(beams=4, groups=2, diversity=0.7)],
)
def test_replies_depend_on_their_row_alone(decoding: Decoding) -> None:
    """Rows leave the batch at different steps, and batches of any size write the same replies."""
    network = TableNetwork()
    together = decode(network, ROWS, SEEDS, decoding, 8, candidates=3)
    assert network.largest_batch > 60
    assert together == decode(network, ROWS, SEEDS, decoding, 8, candidates=3, batch=8)
    reversed_rows = decode(network, ROWS[::-1], SEEDS[::-1], decoding, 8, candidates=3)
    assert reversed_rows[::-1] == together
    assert len({len(row[0].tokens) for row in together}) > 2
    for row, candidates in enumerate(together):
        for reply in candidates:
            ended = [*reply.tokens, network.end] if len(reply.tokens) < 8 else reply.tokens
            assert reply.log_probability == pytest.approx(network.log_probability(row, ended), abs=1e-4)


def test_samples_follow_the_probabilities_that_are_kept() -> None:
    logits = torch.log(torch.tensor([0.4, 0.3, 0.2, 0.1])).repeat(20_000, 1)
    seeds = torch.arange(20_000)
    for decoding, expected in (
        (Decoding(), [0.4, 0.3, 0.2, 0.1]),
        (Decoding(top_k=3), [4 / 9, 3 / 9, 2 / 9, 0]),
        (Decoding(top_p=0.65), [4 / 7, 3 / 7, 0, 0]),
        (Decoding(top_k=3, top_p=0.7), [4 / 7, 3 / 7, 0, 0]),  # of the three kept, two have 7/9
        (Decoding(temperature=0.5), [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
        (Decoding(temperature=0.0), [1, 0, 0, 0]),
    ):
        shares = np.bincount(choose_tokens(logits, seeds, 1, decoding).numpy(), minlength=4) / len(logits)
        assert shares.tolist() == pytest.approx(expected, abs=0.015)


def test_equally_likely_tokens_stay_together() -> None:
    logits = torch.tensor([[3.0, 2.0, 2.0, 1.0]])
    assert torch.isfinite(keep_most_likely(logits, 2)).tolist() == [[True, True, True, False]]
    assert keep_most_likely(logits, 0) is logits
    assert keep_most_likely(logits, 4) is logits


def test_candidates_of_samples_differ_and_the_first_has_the_rows_own_seed() -> None:
    network = TableNetwork(words=9)
    several = decode(network, ROWS, SEEDS, Decoding(), 8, candidates=5)
    alone = decode(network, ROWS, SEEDS, Decoding(), 8)
    for candidates, (own,) in zip(several, alone, strict=True):
        assert own in candidates
        assert len(candidates) == 5
    assert sum(len({tuple(reply.tokens) for reply in row}) for row in several) > 4 * len(ROWS)


def _first_tokens(diversity: float) -> list[set[int]]:
    decoding = Decoding(beams=3, groups=3, diversity=diversity)
    found = decode(TableNetwork(words=9), ROWS, SEEDS, decoding, 5, candidates=3)
    return [{reply.tokens[0] if reply.tokens else -1 for reply in row} for row in found]


def test_groups_choose_different_tokens() -> None:
    """Without a penalty, all groups find the same reply; a large one forbids the tokens of earlier groups."""
    assert all(len(tokens) == 1 for tokens in _first_tokens(0.0))
    assert all(len(tokens) == 3 for tokens in _first_tokens(50.0))


def test_the_first_group_searches_as_if_it_were_alone() -> None:
    network = TableNetwork(words=9)
    alone = decode(network, ROWS, SEEDS, Decoding(beams=2), 5, candidates=2)
    grouped = decode(network, ROWS, SEEDS, Decoding(beams=6, groups=3, diversity=1.0), 5, candidates=6)
    for own, row in zip(alone, grouped, strict=True):
        assert {tuple(reply.tokens) for reply in own} <= {tuple(reply.tokens) for reply in row}


def test_a_reply_may_end_before_the_end_token() -> None:
    """Token 0 completes a reply, like a line break in a model of text."""
    network = TableNetwork()
    for decoding in (Decoding(), Decoding(beams=4)):
        found = decode(network, ROWS, SEEDS, decoding, 8, stopped=lambda tokens: tokens[:, -1] == 0)
        assert any(reply.tokens[-1:] == [0] for (reply,) in found)
        assert not any(0 in reply.tokens[:-1] for (reply,) in found)


class _Transformer:
    """A causal model of Hugging Face without a cache."""

    def __init__(self, model: Any, end: int) -> None:
        self.model, self.end = model, end

    def start(self, rows: Any) -> tuple[torch.Tensor, torch.Tensor]:
        ids = torch.tensor(rows)
        return ids, self.model(input_ids=ids).logits[:, -1]

    def step(self, state: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.start(torch.cat([state, tokens[:, None]], dim=1).tolist())

    def select(self, state: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return state[rows]


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 2.0])
def test_beams_are_those_of_transformers(length_penalty: float) -> None:
    torch.manual_seed(1)
    config = transformers.GPT2Config(vocab_size=12, n_embd=16, n_layer=1, n_head=2, n_positions=32, eos_token_id=11)
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.4 * torch.randn_like(parameter)
        model.transformer.wte.weight[11] *= 2  # replies of different lengths
    rows = torch.randint(0, 11, (12, 4))
    decoding = Decoding(beams=5, length_penalty=length_penalty)
    found = decode(_Transformer(model, 11), rows.tolist(), range(12), decoding, 9, candidates=5)
    options: dict[str, Any] = {
        "num_beams": 5,
        "num_return_sequences": 5,
        "max_new_tokens": 9,
        "do_sample": False,
        "pad_token_id": 11,
    }
    options |= {"length_penalty": length_penalty, "output_scores": True, "return_dict_in_generate": True}
    expected = model.generate(rows, attention_mask=torch.ones_like(rows), **options)
    replies = [row[4:].tolist() for row in expected.sequences]
    cut = [row[: row.index(11)] if 11 in row else row for row in replies]
    lengths = set()
    for i, row in enumerate(found):
        assert [reply.tokens for reply in row] == cut[5 * i : 5 * i + 5]
        scores = expected.sequences_scores[5 * i : 5 * i + 5].tolist()
        assert [reply.score for reply in row] == pytest.approx(scores, abs=1e-4)
        lengths |= {len(reply.tokens) for reply in row}
    assert len(lengths) > 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beams": 4, "groups": 3}, "4 beams cannot be divided into 3 equal groups"),
        ({"beams": 0}, "at least 1"),
        ({"top_k": -1}, "top_k must be at least 0, got -1"),
        ({"top_p": 0.0}, "top_p must be above 0"),
        ({"temperature": -1.0}, "temperature must be at least 0"),
        ({"temperature": float("nan")}, "temperature must be at least 0"),
        ({"beams": 2, "diversity": 0.5}, "needs groups"),
        ({"beams": 2, "groups": 2, "diversity": -1.0}, "diversity must be at least 0"),
        ({"length_penalty": float("inf")}, "length_penalty must be a finite number"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Decoding(**settings)


def test_more_beams_than_tokens_are_refused() -> None:
    with pytest.raises(InputError, match="6 beams are more than the model's 5 tokens"):
        decode(TableNetwork(), [1], [1], Decoding(beams=6), 4)


@pytest.mark.parametrize(
    ("decoding", "n", "message"),
    [
        (Decoding(beams=2), 3, "3 candidates cannot come from 2 beams"),
        (Decoding(temperature=0.0), 2, "most likely tokens alone"),
        (Decoding(), 0, "at least 1"),
    ],
)
def test_more_candidates_than_can_be_found_are_refused(decoding: Decoding, n: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        decode(TableNetwork(), [1], [1], decoding, 4, candidates=n)


def test_no_rows_have_no_replies() -> None:
    assert decode(TableNetwork(), [], [], Decoding(), 4) == []
