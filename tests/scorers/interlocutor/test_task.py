"""Losses of the models that judge as the interlocutor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq.data.text.token_texts import Texts
from interloq.learn.fit import Part
from interloq.models.cross_encoder import CrossEncoder, rows
from interloq.models.packing import ATTENTION
from interloq.models.pretrained import Subwords
from interloq.scorers.interlocutor.continuity_labels import CONTINUED
from interloq.scorers.interlocutor.examples import InterlocutorExamples
from interloq.scorers.interlocutor.reader import JUDGE, REPLIER, USERS
from interloq.scorers.interlocutor.settings import Target
from interloq.scorers.interlocutor.task import InterlocutorTask, SpeakerEncoder
from tests.made_lm import tiny_lm
from tests.made_relevance import tiny_encoder

VALUES = [1, 1, 1, 0, 1, 0]  # the last two are dev


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("task"))


def made(encoder: Path, values: Sequence[float], *, users: int = 0, **options: Any) -> InterlocutorTask:
    torch.manual_seed(0)
    texts = Texts.of([[5 + i % 3] * (1 + i % 2) for i in range(2 * len(values))])
    dev = np.arange(len(values)) >= len(values) - 2
    examples = InterlocutorExamples(texts, np.array(values, dtype=float), dev, np.arange(len(values)), {})
    network = SpeakerEncoder(CrossEncoder.pretrained(encoder, 1), users).eval()
    return InterlocutorTask(network, examples, Subwords(encoder), Target(batch=3, **options))


def loss(task: InterlocutorTask) -> float:
    with torch.inference_mode():
        return float(task.loss(task.prepare("train", task.own["train"])))


def test_continuity_is_classified(encoder: Path) -> None:
    task = made(encoder, VALUES, aspect=CONTINUED)
    logits, values = task.predict("train")
    wanted = np.logaddexp(0, np.where(values == 1, -logits, logits))
    assert loss(task) == pytest.approx(wanted.sum(), rel=1e-5)


def test_balanced_classes_weigh_the_same_and_logits_are_shifted_back(encoder: Path) -> None:
    plain, task = (made(encoder, VALUES, aspect=CONTINUED, balance=balance) for balance in (False, True))
    logits, values = plain.predict("train")
    wanted = np.logaddexp(0, np.where(values == 1, -logits, logits)) * np.where(values == 1, 4 / 6, 4 / 2)
    assert loss(task) == pytest.approx(wanted.sum(), rel=1e-5)
    assert task.predict("train")[0] == pytest.approx(logits + np.log(3))


def test_ratings_are_scaled_and_scaled_back(encoder: Path) -> None:
    task = made(encoder, [1, 3, 5, 7, 2, 4])
    assert [task.scale.mean, task.scale.spread] == pytest.approx([4, 5**0.5])
    predicted, values = task.predict("train")
    assert loss(task) == pytest.approx(np.sum((predicted - values) ** 2) / 5, rel=1e-5)


def test_batches_of_an_epoch_have_every_example_once(encoder: Path) -> None:
    task = made(encoder, VALUES, aspect=CONTINUED)
    wanted_by_part: dict[Part, list[int]] = {"train": [0, 1, 2, 3], "dev": [4, 5]}
    for part, wanted in wanted_by_part.items():
        batches = task.batches(part, 1)
        assert sorted(np.concatenate(batches) % len(VALUES)) == wanted
        assert all(np.array_equal(a, b) for a, b in zip(batches, task.batches(part, 1), strict=True))


@pytest.mark.parametrize(("anyone", "least", "most"), [(0.0, 0, 0), (0.3, 15, 45), (1.0, 100, 100)])
def test_some_samples_are_read_without_their_user(encoder: Path, anyone: float, least: int, most: int) -> None:
    task = made(encoder, VALUES, users=1, aspect=CONTINUED, anyone=anyone)
    ids = np.full((100, 3), task.network.vocabulary, dtype=np.int32) + np.array([JUDGE, USERS, -1], dtype=np.int32)
    before, numbers = ids.copy(), np.arange(100)
    task._drop_users(ids, numbers)
    dropped = (ids[:, 1] == task.network.vocabulary + JUDGE).sum()
    assert least <= dropped <= most
    assert np.array_equal(ids[:, [0, 2]], before[:, [0, 2]])
    if anyone == 0.3:
        again = before.copy()
        task._drop_users(again, numbers)
        assert np.array_equal(again, ids)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("speakers"))


def network_of(folder: Path, users: int = 2, **options: int) -> SpeakerEncoder:
    torch.manual_seed(0)
    network = SpeakerEncoder(CrossEncoder.pretrained(folder, 1), users, **options)
    network.eval()
    return network


def logits(network: SpeakerEncoder, folder: Path, *speakers: int) -> torch.Tensor:
    tokens = [(np.array([network.vocabulary + each, 7, 8]), np.array([network.vocabulary, 9])) for each in speakers]
    with torch.inference_mode():
        return network(rows(tokens, Subwords(folder)))[:, 0]


def test_words_are_read_as_by_the_encoder(folder: Path) -> None:
    network, ids = network_of(folder), torch.tensor([[3, 8, 5]])
    assert torch.equal(network._embed(ids), network.encoder.get_input_embeddings()(ids))


def test_a_user_is_the_judge_and_an_own_vector(folder: Path) -> None:
    network = network_of(folder)
    found = logits(network, folder, JUDGE, USERS, USERS + 1)
    assert len({round(float(z), 5) for z in found}) == 3
    with torch.no_grad():
        network.users.zero_()
    assert logits(network, folder, USERS, USERS + 1) == pytest.approx(logits(network, folder, JUDGE, JUDGE))


def test_added_users_start_as_anyone(folder: Path) -> None:
    network = network_of(folder, 2, added=1)
    assert logits(network, folder, USERS + 2) == pytest.approx(logits(network, folder, JUDGE))
    assert network_of(folder, 0).users is None


def test_a_gradient_reaches_the_speakers_of_a_batch_only(folder: Path) -> None:
    network = network_of(folder)
    tokens = [(np.array([network.vocabulary + USERS]), np.array([network.vocabulary + REPLIER, 9]))]
    network(rows(tokens, Subwords(folder))).sum().backward()
    assert network.users.grad[0].abs().sum() > 0
    assert network.users.grad[1].abs().sum() == 0
    assert all(row.abs().sum() > 0 for row in network.sides.grad)


@pytest.mark.parametrize("causal", [False, True])
def test_packed_rows_give_the_same_logits(folder: Path, tmp_path: Path, causal: bool) -> None:
    place = Path(tiny_lm(tmp_path / "lm")) if causal else folder
    network = network_of(place)
    first = network.vocabulary
    tokens = [(np.array([first + USERS, *range(5, 5 + n)]), np.array([first, 9])) for n in (1, 4, 9)]
    padded = rows(tokens, Subwords(place))
    with torch.inference_mode():
        wanted = network(padded)
        network.packing._attend_by(ATTENTION)
        found = network(padded.pack(network.packing.start))
    assert torch.allclose(found, wanted, atol=1e-5)
