"""Which kind of language model a folder holds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from interloq.models.lm.causal import LanguageModel
from interloq.models.lm.loading import language_model
from tests.made_lm import tiny_lm


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp("plain"), positions=128)


def test_the_kind_of_model_is_seen_from_its_folder(plain: Path) -> None:
    assert isinstance(language_model(str(plain), device="cpu"), LanguageModel)
    assert math.isfinite(language_model(str(plain), device="cpu").follow_up_scores([("a",)], ["b"]).sums[0, 0])
