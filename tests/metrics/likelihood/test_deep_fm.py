"""Deep FM against literal log-likelihoods."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from interloq import Sample, evaluate
from interloq.metrics.likelihood.deep_fm import DeepFm
from tests.conftest import by_id
from tests.made_network import loaded
from tests.metrics.made_am_fm import chat
from tests.metrics.made_contracts import Contract
from tests.metrics.made_given import scores

CONTRACTS = {
    "deep_fm": Contract((-math.inf, 1.0), variants=["deep_fm(model='lm',mode='referenced')"], required="model='lm'"),
}


def log_likelihood(folder: Path, tokens: list[int]) -> float:
    _, model = loaded(folder, "AutoModelForCausalLM")
    row = torch.tensor([[0, *tokens]])
    with torch.inference_mode():
        said = torch.log_softmax(model(row).logits[0].double(), dim=1)
    return float(sum(said[i, token] for i, token in enumerate(tokens)))


def numbers(folder: Path, text: str) -> list[int]:
    found: list[int] = loaded(folder, "AutoModelForCausalLM")[0](text)["input_ids"]
    return found


@pytest.mark.parametrize("separator", [" ", "", "\n", "<|endoftext|>"])
def test_fluency_is_the_difference_of_two_texts(lm: Path, separator: str) -> None:
    """[ log p(utterance + reply) − log p(utterance) ] / difference of their lengths, as the formula stands."""
    utterance = numbers(lm, "how was it ?")
    for sample, score in zip(chat(), scores(DeepFm(str(lm), separator=separator), chat()), strict=True):
        whole = utterance + numbers(lm, separator + sample.response)
        difference = log_likelihood(lm, whole) - log_likelihood(lm, utterance)
        assert score == pytest.approx(difference / (len(whole) - len(utterance)), abs=1e-5)
        assert score < 0


def test_fluency_with_references_is_the_best_ratio_of_inverse_perplexities(lm: Path) -> None:
    def inverse_perplexity(text: str) -> float:
        tokens = numbers(lm, text)
        return math.exp(log_likelihood(lm, tokens) / len(tokens))

    for sample, score in zip(chat(()), scores(DeepFm(str(lm), "referenced"), chat(())), strict=True):
        own = inverse_perplexity(sample.response)
        others = [inverse_perplexity(reference.text) for reference in sample.references]
        assert score == pytest.approx(max(min(own, e) / max(own, e) for e in others), abs=1e-5)
        assert 0 < score <= 1


def test_fluency_of_odd_replies(lm: Path) -> None:
    samples = [
        Sample("alone", (), "it was"),
        Sample("empty", ["hi"], " \n", ["it was"]),
        Sample("equal", ["hi"], "it was", ["no", "it was"]),
        Sample("no text", ["hi"], "it was", [""]),
        Sample("nothing", ["hi"], "", [""]),
    ]
    result = evaluate(DeepFm(str(lm)), samples)
    assert by_id(result.reasons) == {"alone": "no context", "empty": "empty reply", "nothing": "empty reply"}
    result = evaluate(DeepFm(str(lm), "referenced"), samples)
    assert by_id(result.reasons) == {"alone": "no references"}
    assert [by_id(result.by_sample)[id] for id in ("empty", "equal", "no text", "nothing")] == [0, 1, 0, 0]
