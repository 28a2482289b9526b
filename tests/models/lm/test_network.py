"""What all language models share."""

from __future__ import annotations

from pathlib import Path

import pytest

from interloq import InputError
from interloq.models.lm.causal import LanguageModel
from tests.made_lm import tiny_lm


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp("lm"), positions=64)


def test_no_more_is_read_than_the_network_has_positions(folder: Path) -> None:
    assert LanguageModel(str(folder), device="cpu", longest=32).longest == 32
    assert LanguageModel(str(folder), device="cpu", longest=500).longest == 64
    with pytest.raises(InputError, match="longest must be at least"):
        LanguageModel(str(folder), device="cpu", longest=0)


def test_the_signature_names_all_that_likelihoods_depend_on(folder: Path) -> None:
    signed = LanguageModel(str(folder), device="cpu").signature()
    assert signed.startswith("gpt2-")
    assert LanguageModel(str(folder), device="cpu", tokens=7).signature() == signed
    assert LanguageModel(str(folder), device="cpu", longest=32).signature() != signed
    assert LanguageModel(str(folder), device="cpu", precision="float64").signature() == f"{signed}-float64"
