"""Texts as numbers of SentencePiece pieces, and tokenizers made from logs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from interloq.errors import InputError
from interloq.learn.pieces import Pieces, train_pieces
from interloq.records import Pair
from tests.made_rater import TOPICS, topic_log


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


def test_no_texts(model: Path) -> None:
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

    monkeypatch.setattr("interloq.learn.pieces.train_sentencepiece", watched)
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


@pytest.mark.parametrize(("text", "said"), [(None, "no SentencePiece model"), ("none", "is not a SentencePiece model")])
def test_what_is_not_a_model_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "a.model").write_text(text)
    with pytest.raises(InputError, match=said):
        Pieces(tmp_path / "a.model")
