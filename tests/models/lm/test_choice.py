"""Probabilities of possible answers under a local model."""

from __future__ import annotations

import numpy as np
import pytest

from interloq import InputError
from interloq.models.lm.causal import LanguageModel
from interloq.models.lm.choice import choice_probabilities
from tests.made_lm import tiny_lm


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return LanguageModel(str(tiny_lm(tmp_path_factory.mktemp("lm"), positions=96)), device="cpu", longest=96)


def test_probabilities_are_those_of_the_next_token(model: LanguageModel) -> None:
    prompts = ["rate it :", "how good ?"]
    found = choice_probabilities(model, prompts, ["1", "2", "3"], layout="lines")
    sums, _ = model.log_likelihoods([f"{prompt}\n" for prompt in prompts], ["2"] * 2)
    np.testing.assert_allclose(found[:, 1], np.exp(sums), rtol=1e-4)
    assert (found.sum(axis=1) < 1).all()


def test_a_prompt_that_would_be_cut_is_refused(model: LanguageModel) -> None:
    with pytest.raises(InputError, match="a prompt has 82 tokens, and the model reads at most 48; lower `longest`"):
        choice_probabilities(model, ["~" * 80], ["1"], layout="lines")


def test_answers_of_different_length_are_refused(model: LanguageModel) -> None:
    with pytest.raises(InputError, match="answers differ in tokens: '1' 1, '~~' 2"):
        choice_probabilities(model, ["a"], ["1", "~~"], layout="lines")
