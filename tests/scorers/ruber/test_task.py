"""RUBER's unreferenced scorer: its network against a literal calculation, its data, and that it learns."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from interloq.errors import InputError
from interloq.learn.draws import mixed
from interloq.learn.job import train
from interloq.learn.pair_tokens import PairTokens, split, write_pair_tokens
from interloq.learn.pieces import Pieces
from interloq.learn.settings import Training
from interloq.records import Pair
from interloq.scorers.ruber.job import RuberJob
from interloq.scorers.ruber.model import RuberNetwork, RuberScorer, quadratic
from interloq.scorers.ruber.settings import TRAINING, Unreferenced
from interloq.scorers.ruber.task import RuberTask, random_replies, start
from tests.made_ruber import topic_pairs, topic_pieces

SMALL = Unreferenced(embedding=32, hidden=32, batch=32)
FAST = dataclasses.replace(TRAINING, epochs=5, learning_rate=2e-3)


# ---- the network -----------------------------------------------------------------------------------------------------


def network(hidden: int = 5) -> RuberNetwork:
    torch.manual_seed(1)
    made = RuberNetwork(vocabulary=11, embedding=4, hidden=hidden)
    torch.nn.init.normal_(made.matrix)
    made.double()
    return made


def test_the_quadratic_feature_is_q_m_r() -> None:
    rng = np.random.default_rng(0)
    query, matrix, reply = rng.normal(size=(3, 4)), rng.normal(size=(4, 4)), rng.normal(size=(3, 4))
    literal = [
        [sum(q[i] * matrix[i, j] * r[j] for i in range(4) for j in range(4))] for q, r in zip(query, reply, strict=True)
    ]
    found = quadratic(*(torch.from_numpy(a) for a in (query, matrix, reply)))
    assert found.tolist() == [pytest.approx(row) for row in literal]


def test_the_score_is_the_sigmoid_of_the_perceptron() -> None:
    made = network()
    query, reply = torch.randn(7, 10, dtype=torch.float64), torch.randn(7, 10, dtype=torch.float64)
    weights = {name: tensor.numpy() for name, tensor in made.state_dict().items()}
    scores = made(query, reply).detach()
    for row in range(7):
        q, r = query[row].numpy(), reply[row].numpy()
        values = np.concatenate([q, [q @ weights["matrix"] @ r], r])
        for i in range(3):
            values = np.tanh(weights[f"layers.{i}.weight"] @ values + weights[f"layers.{i}.bias"])
        out = float(weights["output.weight"][0] @ values + weights["output.bias"][0])
        assert float(scores[row]) == pytest.approx(1 / (1 + np.exp(-out)), abs=1e-12)


def test_the_layers_have_the_papers_sizes() -> None:
    made = RuberNetwork(vocabulary=11)
    assert [(layer.in_features, layer.out_features) for layer in [*made.layers, made.output]] == [
        (4 * 128 + 1, 256),
        (256, 512),
        (512, 128),
        (128, 1),
    ]
    assert made.matrix.shape == (256, 256)
    assert made.query.embedding.weight.data_ptr() != made.reply.embedding.weight.data_ptr()


def test_the_start_depends_on_the_seed_alone() -> None:
    before = torch.get_rng_state()
    first, again, other = (start(11, Unreferenced(hidden=4, seed=seed)).state_dict() for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["matrix"], other["matrix"])


def test_the_loss_is_the_hinge_of_literal_scores(store: PairTokens) -> None:
    task = RuberTask(start(200, SMALL), store, SMALL)
    examples = task.batches("train", 2)[1]
    rows, n = store.rows("train"), len(store.rows("train"))
    others = random_replies(rows, examples, 0)
    total = 0.0
    with torch.inference_mode():
        for example, other in zip(examples, others, strict=True):
            query, reply = rows[example % n]
            vectors = [
                gru(torch.from_numpy(tokens).long(), torch.from_numpy(lengths))
                for gru, text in ((task.network.query, query), (task.network.reply, reply), (task.network.reply, other))
                for tokens, lengths in [store.texts(np.array([text]))]
            ]
            true, random = (float(task.network(vectors[0], vectors[i])) for i in (1, 2))
            total += max(0.0, 0.5 - true + random)
        found = float(task.loss(task.prepare("train", examples)))
    assert found == pytest.approx(total, rel=1e-5)


# ---- its data --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return topic_pieces(tmp_path_factory.mktemp("pieces") / "words.model")


@pytest.fixture(scope="module")
def store(pieces: Path, tmp_path_factory: pytest.TempPathFactory) -> PairTokens:
    return write_pair_tokens(topic_pairs(300), tmp_path_factory.mktemp("store"), Pieces(pieces), dev=1000)


def test_pairs_come_back_as_their_tokens(store: PairTokens, pieces: Path) -> None:
    encode = Pieces(pieces).texts
    expected = sorted(
        (encode([pair.utterance]).tokens.tolist(), encode([pair.response]).tokens.tolist()) for pair in topic_pairs(300)
    )
    found = sorted(tuple(store.texts(np.array([number]))[0].tolist() for number in row) for row in store.pairs)
    assert [list(row) for row in found] == [list(row) for row in expected]
    assert len(store.starts) == len({text for pair in topic_pairs(300) for text in (pair.utterance, pair.response)})


def test_several_texts_come_end_to_end(store: PairTokens) -> None:
    which = np.array([5, 0, 5, 7])
    tokens, lengths = store.texts(which)
    parts = [store.texts(np.array([i]))[0] for i in which]
    assert tokens.tolist() == np.concatenate(parts).tolist()
    assert lengths.tolist() == [len(part) for part in parts]
    assert [len(part) for part in store.texts(np.zeros(0, dtype=int))] == [0, 0]


def test_no_utterance_is_on_both_sides(store: PairTokens) -> None:
    train_side, dev_side = (set(store.rows(part)[:, 0].tolist()) for part in ("train", "dev"))
    assert not train_side & dev_side
    assert 20 <= store.dev <= 45  # about a tenth of 300, in whole utterances
    assert len(store.rows("train")) + store.dev == 300


def test_the_order_of_the_log_does_not_matter(store: PairTokens, pieces: Path, tmp_path: Path) -> None:
    pairs = topic_pairs(300)
    Random(3).shuffle(pairs)
    again = write_pair_tokens(pairs, tmp_path, Pieces(pieces), dev=1000)
    assert (again.pairs == store.pairs).all()
    assert again.dev == store.dev
    every = np.arange(len(store.starts))
    assert [part.tolist() for part in again.texts(every)] == [part.tolist() for part in store.texts(every)]


def test_blank_sides_are_left_out_and_counted(pieces: Path, tmp_path: Path) -> None:
    blank = [Pair("a", " ", "tea"), Pair("b", "tea ?", ""), Pair("c", "", "\n")]
    stored = write_pair_tokens([*blank, *topic_pairs(50)], tmp_path, Pieces(pieces), dev=5)
    assert (len(stored.pairs), stored.blank) == (50, 3)


def test_too_few_utterances_are_refused(pieces: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="hold 0 different utterances"):
        write_pair_tokens([], tmp_path, Pieces(pieces), dev=5)
    with pytest.raises(InputError, match="hold 3 different utterances"):
        write_pair_tokens(
            [Pair(str(i), f"tea {i % 3} ?", f"so {i}") for i in range(90)], tmp_path, Pieces(pieces), dev=5
        )


@pytest.mark.parametrize(
    ("utterances", "dev", "expected"),
    [
        ([0, 1, 2, 3], 1, 2),  # two utterances a side at least
        (list(range(40)), 100, 4),  # a tenth
        (list(range(400)), 7, 7),
        ([0] * 30 + list(range(1, 11)), 100, 31),  # a tenth would cut the first utterance in two
        ([0, 1] + [2] * 38 + [3], 100, 2),
    ],
)
def test_the_split_keeps_utterances_whole(utterances: list[int], dev: int, expected: int) -> None:
    pairs = np.column_stack([utterances, np.arange(len(utterances))]).astype(np.int32)
    assert split(pairs, dev) == expected


def test_random_replies_are_of_other_utterances() -> None:
    """Two utterances with twenty replies each, and one reply that both have."""
    rows = np.array([[0, i] for i in range(20)] + [[1, i] for i in range(19, 40)], dtype=np.int32)
    for examples in (np.arange(41), np.arange(41, 82)):
        drawn = random_replies(rows, examples, 0)
        assert (drawn[:20] >= 19).all()
        assert (drawn[20:] <= 19).all()
        assert (drawn != rows[:, 1]).all()
        assert len(set(drawn.tolist())) > 15


def test_random_replies_depend_on_seed_and_example_alone(store: PairTokens) -> None:
    rows, examples = store.rows("train"), np.arange(100, 400)
    whole = random_replies(rows, examples, 0)
    order = np.random.default_rng(0).permutation(300)
    assert (random_replies(rows, examples[order], 0) == whole[order]).all()
    assert (random_replies(rows, examples, 1) != whole).mean() > 0.9
    assert (random_replies(rows, examples + len(rows), 0) != whole).mean() > 0.9


def test_random_replies_are_even() -> None:
    """Every reply is drawn about as often: χ² over 50 replies stays below its 99.99 % point of 96."""
    rows = np.column_stack([np.arange(50), np.arange(50)]).astype(np.int32)
    counts = np.bincount(random_replies(rows, np.arange(50_000), 3), minlength=50)
    assert ((counts - 1000) ** 2 / 1000).sum() < 96


def test_where_there_is_one_reply_only_it_stands() -> None:
    rows = np.array([[0, 9], [1, 9], [2, 9]], dtype=np.int32)
    assert random_replies(rows, np.arange(3), 0).tolist() == [9, 9, 9]


def test_mixing_has_no_collisions_and_even_bits() -> None:
    bits = mixed(np.arange(100_000), 0, 0)
    assert len(np.unique(bits)) == 100_000
    ones = [float(((bits >> np.uint64(i)) & np.uint64(1)).mean()) for i in range(64)]
    assert all(abs(share - 0.5) < 0.01 for share in ones)


def test_batches_hold_every_pair_once(store: PairTokens) -> None:
    task = RuberTask(start(200, SMALL), store, SMALL)
    n = len(store.rows("train"))
    epochs = [np.concatenate(list(task.batches("train", epoch))) for epoch in (1, 2)]
    for epoch, examples in enumerate(epochs, 1):
        assert sorted(examples.tolist()) == list(range(epoch * n, (epoch + 1) * n))
    assert (epochs[0] % n != epochs[1] % n).mean() > 0.9
    assert sorted(np.concatenate(list(task.batches("dev", 0))).tolist()) == list(range(store.dev))


# ---- learning --------------------------------------------------------------------------------------------------------


def trained(folder: Path, pieces: Path, training: Training = FAST, **options: Any) -> dict[str, Any]:
    return train(job(800, training, pieces), folder, device="cpu", **options)


def job(pairs: int, training: Training, tokenizer: Path | None) -> RuberJob:
    return RuberJob(pairs=lambda: topic_pairs(pairs), settings=SMALL, training=training, tokenizer=tokenizer)


def losses(folder: Path) -> list[tuple[float, float]]:
    curve = json.loads((folder / "learning_curve.json").read_text())["epochs"]
    return [(epoch["train_loss"], epoch["dev_loss"]) for epoch in curve]


@pytest.fixture(scope="module")
def learned(pieces: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learned") / "ruber"
    trained(folder, pieces)
    return folder


def test_it_learns_which_replies_belong(learned: Path) -> None:
    curve = losses(learned)
    assert curve[0][0] > 0.35  # at the margin of .5 to begin with
    assert min(dev for _, dev in curve) < 0.2
    facts = json.loads((learned / "model.json").read_text())
    assert facts["wins"] > 0.8
    assert facts["best"]["dev_loss"] == min(dev for _, dev in curve)
    assert sorted(path.name for path in learned.iterdir()) == [
        "learning_curve.json",
        "model.json",
        "model.safetensors",
        "pieces.model",
        "training_times.json",
    ]


def test_true_replies_outscore_random_ones(learned: Path) -> None:
    """On pairs from another draw of the log; a random reply has the topic by chance once in eight times."""
    pairs = topic_pairs(400, seed=1)
    scorer = RuberScorer.load(learned, device="cpu")
    utterances, replies = [p.utterance for p in pairs], [p.response for p in pairs]
    true, random = scorer.scores(utterances, replies), scorer.scores(utterances, replies[1:] + replies[:1])
    assert (true > random).mean() > 0.8
    assert true.mean() - random.mean() > 0.3


def test_a_job_that_failed_at_its_pairs_blocks_nobody(pieces: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ruber"
    with pytest.raises(InputError, match="different utterances"):
        train(job(1, FAST, pieces), folder)
    once = dataclasses.replace(FAST, epochs=1)
    facts = train(job(60, once, pieces), folder, device="cpu")
    assert facts["pairs"]["train"] + facts["pairs"]["dev"] == 60


def test_a_tokenizer_is_trained_where_none_is_given(tmp_path: Path) -> None:
    said: list[str] = []
    once = dataclasses.replace(FAST, epochs=1)
    train(job(200, once, None), tmp_path / "a", device="cpu", say=said.append)
    size = Pieces(tmp_path / "a" / "pieces.model").size
    assert 20 < size < 16_000
    assert said[0] == f"a tokenizer of {size:,} pieces is all that these texts give"


def test_it_says_when_nothing_was_learned(pieces: Path, tmp_path: Path) -> None:
    said: list[str] = []
    still = dataclasses.replace(FAST, epochs=1, learning_rate=1e-9)
    trained(tmp_path / "still", pieces, still, say=said.append)
    assert said[-1].startswith("it has learned nothing")


@pytest.mark.parametrize(
    ("field", "value"), [("hidden", 0), ("margin", 0.0), ("batch", -1), ("dev", 0), ("seed", -1), ("longest", 0)]
)
def test_settings_out_of_range_are_refused(field: str, value: float) -> None:
    changes: dict[str, Any] = {field: value}
    with pytest.raises(InputError, match=field):
        Unreferenced(**changes)


def rounded(values: NDArray[np.float64]) -> list[float]:
    return [round(float(value), 9) for value in values]


def test_long_texts_are_cut_and_empty_ones_are_read(learned: Path) -> None:
    scorer = RuberScorer.load(learned, device="cpu")
    long = "tea " * 500
    found = scorer.scores([long, "", "tea ?"], ["tea", "tea", ""])
    assert np.isfinite(found).all()
    assert rounded(found[:1]) == rounded(scorer.scores(["tea " * 400], ["tea"]))
