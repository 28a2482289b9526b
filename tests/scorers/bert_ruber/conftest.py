"""Fixtures that several files of this folder use."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq.models.encoder import Encoder
from tests.made_lm import tiny_bert
from tests.made_ruber import FILLERS, TOPICS


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"), head="", words=[*TOPICS, *FILLERS])


@pytest.fixture(scope="module")
def encoder(bert: Path) -> Encoder:
    return Encoder(str(bert), device="cpu")
