"""Fixtures that several files of this folder use."""

from __future__ import annotations

import pytest

from interloq.models.pretrained import Subwords
from interloq.scorers.relevance.examples import Exchanges
from tests.made_relevance import exchanges, stored, talks


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Exchanges, Subwords]:
    wrong = exchanges(talks(20, seed=5), origin=1, wrong=("tea tea tea .", "rain rain rain ."))
    return stored(tmp_path_factory.mktemp("made"), [*exchanges(talks(60)), *wrong])
