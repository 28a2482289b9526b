"""Exchanges as pairs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from interloq import InputError
from interloq.learn.pair_tokens import PairTokens
from interloq.models.pretrained import Subwords
from interloq.scorers.relevance.examples import Exchanges
from interloq.scorers.relevance.pairs import ExchangePairs
from tests.made_relevance import talks, tiny_encoder


def test_pairs_of_examples_are_those_of_the_log(made: tuple[Exchanges, Subwords], tmp_path: Path) -> None:
    stored, whole = made
    subwords = Subwords(whole.folder, longest=6)
    pairs = ExchangePairs(stored).write(tmp_path, subwords, dev=12)
    assert PairTokens.load(tmp_path).dev == pairs.dev > 0
    rows = [[pairs.texts(row[[column]])[0].tolist() for column in (0, 1)] for row in pairs.pairs]
    log = [*talks(60), *talks(20, seed=5)]
    wanted = {pair for turns in log for pair in pairwise(turns)}
    assert sorted(rows) == sorted([subwords.texts([text])[0].tolist() for text in pair] for pair in wanted)
    assert not set(pairs.rows("dev")[:, 0].tolist()) & set(pairs.rows("train")[:, 0].tolist())


def test_another_tokenizer_is_refused(made: tuple[Exchanges, Subwords], tmp_path: Path) -> None:
    tiny_encoder(tmp_path / "other")
    path = tmp_path / "other" / "tokenizer.json"
    path.write_text(path.read_text().replace('"tea"', '"tee"'))
    with pytest.raises(InputError, match="another tokenizer"):
        ExchangePairs(made[0]).write(tmp_path / "pairs", Subwords(tmp_path / "other"), dev=12)
