"""Trained raters: that they learn, what they refuse, and the weights that the `gru` rater gives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
import pytest
import torch

from interloq.data.text.token_texts import Texts
from interloq.errors import InputError, SpecError
from interloq.learn.calibrate import CALIBRATION
from interloq.learn.fit import Part
from interloq.learn.gru import Pieces, train_pieces
from interloq.learn.job import train
from interloq.learn.settings import Training
from interloq.rate.gru_model import PIECES, RaterModel, RaterNetwork, RaterTask
from interloq.rate.pairs import RaterPairs
from interloq.rate.settings import Batching, Shape
from interloq.records import Pair
from tests.made_damage import check_damaged_facts
from tests.made_rater import SMALL_BATCHES, TINY, made_examples, rater_job


def test_the_folder_holds_all_that_is_needed_and_no_pickle(small: Path) -> None:
    names = {path.name for path in small.iterdir()}
    assert names == {
        "model.safetensors",
        "model.json",
        PIECES,
        "learning_curve.json",
        "training_times.json",
        CALIBRATION,
    }
    facts = RaterModel.load(small).facts
    assert facts["examples"]["read"] == 160
    assert "Shape(embedding=16" in facts["signature"]


TRIPLETS = [("tea ?", "i like tea", "tea then"), ("rain ?", "", "so much rain"), ("tea ?", "tea then", "i like tea")]


def test_batches_do_not_matter(learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, triplets = RaterModel.load(learned), TRIPLETS * 5
    whole = model.chances(triplets)
    for name in ("TEXTS", "TOKENS", "TRIPLETS"):
        monkeypatch.setattr(f"interloq.rate.gru_model.{name}", 2)
    assert model.chances(triplets) == pytest.approx(whole, abs=1e-6)


def test_each_text_is_encoded_once(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, encode = RaterModel.load(small), Pieces.texts
    seen: list[str] = []

    def noted(self: Pieces, texts: Sequence[str]) -> Texts:
        seen.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(Pieces, "texts", noted)
    model.chances(TRIPLETS)
    assert sorted(seen) == sorted({text for triplet in TRIPLETS for text in triplet})


def test_sure_logits_do_not_overflow(copied: Path) -> None:
    model = RaterModel.load(copied)
    model.facts["temperature"] = 1e-5
    found = model.chances(TRIPLETS, calibrated=True)
    assert np.isfinite(found).all()
    assert set(np.round(found, 6)) <= {0.0, 1.0}


def test_words_that_the_log_has_not_are_unknown_pieces(small: Path) -> None:
    model = RaterModel.load(small)
    assert (model.pieces.texts(["昨日は", "映画"]).tokens == 0).mean() > 0.3
    chances = model.chances([("昨日は ?", "映画", "猫"), ("", "", "")])
    assert ((chances > 0) & (chances < 1)).all()


def test_another_tokenizer_is_refused(copied: Path) -> None:
    train_pieces([Pair("1", "other words", "than those there")] * 3, copied / PIECES, vocabulary=30)
    with pytest.raises(InputError, match=r"pieces\.model is missing or not the one the rater was trained with; copy"):
        RaterModel.load(copied)
    (copied / PIECES).unlink()
    with pytest.raises(InputError, match=r"pieces\.model is missing"):
        RaterModel.load(copied)


@pytest.mark.parametrize("change", [{"vocabulary": 7}, {"shape": {"embedding": 16, "hidden": 8}}])
def test_a_config_that_does_not_fit_is_refused(copied: Path, change: dict[str, Any]) -> None:
    path = copied / "model.json"
    facts = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps(facts | {"config": facts["config"] | change}))
    with pytest.raises(InputError, match="the weights are of another model"):
        RaterModel.load(copied)


def test_every_damaged_fact_is_refused_or_not_needed(copied: Path) -> None:
    def use() -> None:
        found = RaterModel.load(copied, device="cpu")
        assert found.fingerprint
        found.chances([("a", "b", "c")])

    assert check_damaged_facts(copied / "model.json", use, but=("examples",)) > 20


def test_shapes_beside_the_defaults_are_kept(tmp_path: Path) -> None:
    shape = Shape(embedding=3, hidden=4, layers=1, width=5)
    train(rater_job(tmp_path, 20, shape=shape, training=Training(epochs=1)), tmp_path / "r", device="cpu")
    assert RaterModel.load(tmp_path / "r").network.shape == shape


PARTS: tuple[Literal["train", "dev"], ...] = ("train", "dev")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> RaterPairs:
    return made_examples(tmp_path_factory.mktemp("examples"), 40)[0]


@pytest.fixture
def task(pairs: RaterPairs) -> RaterTask:
    torch.manual_seed(1)
    return RaterTask(RaterNetwork(pairs.facts["vocabulary"], TINY), pairs, SMALL_BATCHES, seed=5)


def vector(network: RaterNetwork, tokens: torch.Tensor) -> torch.Tensor:
    """[h_f; h_b] of one text."""
    steps, _ = network.encoder.gru(network.encoder.embedding(tokens)[:, None])
    hidden = network.shape.hidden
    return torch.cat([steps[-1, 0, :hidden], steps[0, 0, hidden:]])


def logits(network: RaterNetwork, *texts: torch.Tensor) -> torch.Tensor:
    """Layer by layer, from the weights themselves."""
    found = torch.cat([vector(network, text) for text in texts])
    weights = [value for name, value in network.judge.state_dict().items() if name.endswith("weight")]
    biases = [value for name, value in network.judge.state_dict().items() if name.endswith("bias")]
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        found = weight @ found + bias
        if i < len(weights) - 1:
            found = torch.clamp(found, min=0)
    return found


def own_text(pairs: RaterPairs, number: int) -> torch.Tensor:
    return torch.from_numpy(pairs.texts[number].astype(np.int64))


# ---- the network -----------------------------------------------------------------------------------------------------


def test_logits_are_those_of_three_vectors_side_by_side() -> None:
    torch.manual_seed(0)
    network = RaterNetwork(30, Shape(embedding=6, hidden=5, layers=3, width=7))
    texts = [torch.randint(30, (n,)) for n in (4, 1, 9, 2, 4)]
    triplets = torch.tensor([[0, 1, 2], [3, 3, 4], [2, 1, 0], [4, 0, 1]])
    with torch.inference_mode():
        found = network(torch.cat(texts), torch.tensor([4, 1, 9, 2, 4]), triplets)
        for row, triplet in zip(found, triplets.tolist(), strict=True):
            np.testing.assert_allclose(row, logits(network, *(texts[i] for i in triplet)), atol=1e-6)
    assert not torch.equal(found[0], found[2])  # which text is U1 matters


def test_the_default_network_is_the_published_one() -> None:
    network = RaterNetwork(16_000, Shape())
    gru = 2 * (3 * 512 * 512 + 3 * 512 * 512 + 2 * 3 * 512)  # both directions: three gates, two biases each
    judge = (3 * 1024) * 1024 + 1024 + 4 * (1024 * 1024 + 1024) + 1024 * 2 + 2
    assert sum(p.numel() for p in network.parameters()) == 16_000 * 512 + gru + judge
    kinds = [type(layer).__name__ for layer in network.judge]
    assert kinds == ["Linear", "ReLU"] * 5 + ["Linear"]
    assert [(layer.in_features, layer.out_features) for layer in network.judge[::2]] == [
        (3072, 1024),
        *[(1024, 1024)] * 4,
        (1024, 2),
    ]
    assert Batching().batch == 1000


@pytest.mark.parametrize("name", ["embedding", "hidden", "layers", "width"])
def test_sizes_are_checked(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be at least 1, got 0"):
        Shape(**{name: 0})
    with pytest.raises(SpecError, match=f"{name} must be int"):
        Shape(**{name: "8"})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tokens must be at least 1"):
        Batching(tokens=0)


# ---- its task --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_the_loss_is_a_loop_of_cross_entropies(task: RaterTask, pairs: RaterPairs, part: Part) -> None:
    examples = np.array([0, 3, 1, 7])
    rows, labels = pairs.examples(part)
    expected = 0.0
    with torch.inference_mode():
        for i in examples:
            u1, r1, u2, r2 = (own_text(pairs, number) for number in rows[i])
            for triplet in ((u1, r1, r2), (u2, r2, r1)):
                chances = torch.softmax(logits(task.network, *triplet), dim=0)
                expected -= float(torch.log(chances[int(labels[i])])) / 2
        assert float(task.loss(task.prepare(part, examples))) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("part", PARTS)
def test_a_batch_holds_each_text_once_and_no_triplet_both_utterances(
    task: RaterTask, pairs: RaterPairs, part: Part
) -> None:
    for examples in task.batches(part, 1):
        batch, (rows, labels) = task.prepare(part, examples), pairs.examples(part)
        assert len(batch.lengths) == len(np.unique(rows[examples]))
        ends = np.concatenate([[0], np.cumsum(batch.lengths.numpy())])
        held = [batch.tokens[start:end].tolist() for start, end in pairwise(ends)]
        named = [[held[place] for place in triplet] for triplet in batch.triplets.tolist()]
        for row, one, other in zip(rows[examples], named[: len(examples)], named[len(examples) :], strict=True):
            u1, r1, u2, r2 = (pairs.texts[number].tolist() for number in row)
            assert one == [u1, r1, r2]
            assert other == [u2, r2, r1]
        assert batch.labels.tolist() == [*labels[examples].tolist()] * 2


def test_every_example_is_in_one_batch_of_an_epoch(task: RaterTask, pairs: RaterPairs) -> None:
    for part in PARTS:
        batches = task.batches(part, 1)
        assert sorted(np.concatenate(batches).tolist()) == list(range(len(pairs.labels[part])))
    epochs = [[batch.tolist() for batch in task.batches("train", epoch)] for epoch in (1, 1, 2)]
    assert epochs[0] == epochs[1] != epochs[2]
    other = RaterTask(task.network, pairs, SMALL_BATCHES, seed=6)
    assert [batch.tolist() for batch in other.batches("train", 1)] != epochs[0]
    assert [b.tolist() for b in other.batches("dev", 1)] == [b.tolist() for b in task.batches("dev", 2)]
