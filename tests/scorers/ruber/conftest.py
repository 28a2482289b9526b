"""Fixtures that several files of this folder use."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.learn.gru import Pieces
from interloq.learn.pair_tokens import PairTokens, write_pair_tokens
from tests.made_ruber import topic_pairs, topic_pieces
from tests.scorers.ruber.made_pairs import trained


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return topic_pieces(tmp_path_factory.mktemp("pieces") / "words.model")


@pytest.fixture(scope="module")
def store(pieces: Path, tmp_path_factory: pytest.TempPathFactory) -> PairTokens:
    return write_pair_tokens(topic_pairs(300), tmp_path_factory.mktemp("store"), Pieces(pieces), dev=1000)


@pytest.fixture(scope="module")
def learned(pieces: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learned") / "ruber"
    trained(folder, pieces)
    return folder
