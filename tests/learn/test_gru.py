"""Packed texts against torch's own GRU, one text at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_sequence

from interloq.errors import InputError
from interloq.learn.gru import Pieces, SentenceGru, packing, train_pieces
from interloq.records import Pair
from tests.made_rater import TOPICS, topic_log

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


def test_gradients_reach_every_text() -> None:
    texts, made = texts_of([3, 1, 5]), network()
    made(torch.cat(texts), torch.tensor([3, 1, 5])).sum().backward()
    used = torch.unique(torch.cat(texts))
    assert (made.embedding.weight.grad.abs().sum(dim=1) > 0).nonzero()[:, 0].tolist() == used.tolist()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    train_pieces(topic_log(40), tmp_path / "pieces.model", vocabulary=100)
    return tmp_path / "pieces.model"


def test_numbers_are_those_of_sentencepiece(model: Path) -> None:
    pieces, own = Pieces(model), sentencepiece.SentencePieceProcessor(model_file=str(model))
    texts = ["i like tea", "", "rain", "  ", "we like music today"]
    found = pieces.texts(texts)
    assert pieces.size == own.get_piece_size()
    expected = [own.encode(text) or [own.unk_id()] for text in texts]
    assert [found[i].tolist() for i in range(len(texts))] == expected
    assert found.lengths.tolist() == [len(row) for row in expected]
    assert found.tokens.dtype == np.int32
    assert found.tokens.max() < pieces.size
    found = Pieces(model).texts([])
    assert (len(found.tokens), found.ends.tolist()) == (0, [0])


def test_texts_are_cut_at_the_longest(model: Path) -> None:
    text = "so much tea about rain"
    whole = Pieces(model).texts([text])[0].tolist()
    assert len(whole) > 2
    assert Pieces(model, longest=2).texts([text, ""])[0].tolist() == whole[:2]
    assert Pieces(model, longest=1).texts(["", "tea"]).lengths.tolist() == [1, 1]
    with pytest.raises(InputError, match="longest must be at least 1, got 0"):
        Pieces(model, longest=0)


def test_the_signature_names_file_and_cut(model: Path, tmp_path: Path) -> None:
    train_pieces(topic_log(40), tmp_path / "other.model", vocabulary=40)
    names = {Pieces(path, longest=n).signature() for path in (model, tmp_path / "other.model") for n in (128, 64)}
    assert len(names) == 4
    (tmp_path / "copy.model").write_bytes(model.read_bytes())
    assert Pieces(tmp_path / "copy.model").signature() == Pieces(model).signature()


def test_a_file_that_was_written_again_is_read_again(model: Path, tmp_path: Path) -> None:
    before = Pieces(model)
    size, signature = before.size, before.signature()
    train_pieces(topic_log(40), model, vocabulary=40)
    assert Pieces(model).size == 40 < size
    assert Pieces(model).signature() != signature


def test_a_tokenizer_of_a_log_knows_each_text_once_and_no_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def watched(texts: object, *_: object, **__: object) -> None:
        seen.extend(texts)  # type: ignore[arg-type]

    monkeypatch.setattr("interloq.learn.gru.train_sentencepiece", watched)
    read: list[int] = []
    pairs = [Pair("1", "tea ?", "yes"), Pair("2", "tea ?", " "), Pair("3", "yes", "no")]
    train_pieces(pairs, tmp_path / "new" / "pieces.model", vocabulary=50, step=read.append)
    assert seen == ["tea ?", "yes", "no"]
    assert sum(read) == 5  # texts that hold something


def test_a_small_log_gives_fewer_pieces_than_asked_for(tmp_path: Path) -> None:
    train_pieces(topic_log(40), tmp_path / "pieces.model", vocabulary=16_000)
    pieces = Pieces(tmp_path / "pieces.model")
    assert 30 < pieces.size < 16_000
    assert pieces.texts(list(TOPICS)).tokens.all(), "0 is the unknown piece"
