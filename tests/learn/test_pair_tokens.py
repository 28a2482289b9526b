"""Pairs as tokens on disk: order, sides, blanks."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from interloq.errors import InputError
from interloq.learn.gru import Pieces
from interloq.learn.pair_tokens import PairTokens, split, write_pair_tokens
from interloq.records import Pair
from tests.made_ruber import topic_pairs, topic_pieces


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
    with pytest.raises(InputError, match="have only 0 different utterances"):
        write_pair_tokens([], tmp_path, Pieces(pieces), dev=5)
    with pytest.raises(InputError, match="have only 3 different utterances"):
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
