"""Cross-encoders with tokens for speakers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from interloq.models.cross_encoder import CrossEncoder, rows
from interloq.models.packing import ATTENTION
from interloq.models.subwords import Subwords
from interloq.scorers.interlocutor.network import SpeakerEncoder
from interloq.scorers.interlocutor.reader import JUDGE, REPLIER, USERS
from tests.made_lm import tiny_lm
from tests.made_relevance import tiny_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("speakers"))


def made(folder: Path, users: int = 2, **options: int) -> SpeakerEncoder:
    torch.manual_seed(0)
    network = SpeakerEncoder(CrossEncoder.pretrained(folder, 1), users, **options)
    network.eval()
    return network


def logits(network: SpeakerEncoder, folder: Path, *speakers: int) -> torch.Tensor:
    tokens = [(np.array([network.vocabulary + each, 7, 8]), np.array([network.vocabulary, 9])) for each in speakers]
    with torch.inference_mode():
        return network(rows(tokens, Subwords(folder)))[:, 0]


def test_words_are_read_as_by_the_encoder(folder: Path) -> None:
    network, ids = made(folder), torch.tensor([[3, 8, 5]])
    assert torch.equal(network._embed(ids), network.encoder.get_input_embeddings()(ids))


def test_a_user_is_the_judge_and_an_own_vector(folder: Path) -> None:
    network = made(folder)
    found = logits(network, folder, JUDGE, USERS, USERS + 1)
    assert len({round(float(z), 5) for z in found}) == 3
    with torch.no_grad():
        network.users.zero_()
    assert logits(network, folder, USERS, USERS + 1) == pytest.approx(logits(network, folder, JUDGE, JUDGE))


def test_added_users_start_as_anyone(folder: Path) -> None:
    network = made(folder, 2, added=1)
    assert logits(network, folder, USERS + 2) == pytest.approx(logits(network, folder, JUDGE))
    assert made(folder, 0).users is None


def test_a_gradient_reaches_the_speakers_of_a_batch_only(folder: Path) -> None:
    network = made(folder)
    tokens = [(np.array([network.vocabulary + USERS]), np.array([network.vocabulary + REPLIER, 9]))]
    network(rows(tokens, Subwords(folder))).sum().backward()
    assert network.users.grad[0].abs().sum() > 0
    assert network.users.grad[1].abs().sum() == 0
    assert all(row.abs().sum() > 0 for row in network.sides.grad)


@pytest.mark.parametrize("causal", [False, True])
def test_packed_rows_give_the_same_logits(folder: Path, tmp_path: Path, causal: bool) -> None:
    place = Path(tiny_lm(tmp_path / "lm")) if causal else folder
    network = made(place)
    first = network.vocabulary
    tokens = [(np.array([first + USERS, *range(5, 5 + n)]), np.array([first, 9])) for n in (1, 4, 9)]
    padded = rows(tokens, Subwords(place))
    with torch.inference_mode():
        wanted = network(padded)
        network.encoder.set_attn_implementation(ATTENTION)
        found = network(padded.packed(network.packing.start))
    assert torch.allclose(found, wanted, atol=1e-5)
