"""Deep AM against a literal mean of vectors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interloq import Sample, create, evaluate
from interloq.errors import InputError, SpecError
from interloq.metrics.contextual.deep_am import DeepAm
from tests.conftest import by_id
from tests.made_network import loaded
from tests.metrics.made_am_fm import REPLIES, chat
from tests.metrics.made_contracts import COSINE, Contract
from tests.metrics.made_given import scores

CONTRACTS = {
    "deep_am": Contract(
        COSINE,
        variants=["deep_am(model='bert',layer=1)", "deep_am(model='bert',mode='referenced')"],
        required="model='bert'",
    ),
}


def mean_vector(folder: Path, text: str, layer: int) -> np.ndarray[Any, Any]:
    tokenizer, model = loaded(folder, "AutoModel")
    inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=64)
    with torch.inference_mode():
        states = model(**inputs, output_hidden_states=True).hidden_states[layer][0]
    vector: np.ndarray[Any, Any] = states.mean(dim=0).double().numpy()
    return vector


def cosine(first: Any, second: Any) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


@pytest.mark.parametrize("layer", [None, 1])
def test_adequacy_is_the_cosine_with_the_last_turn(bert: Path, layer: int | None) -> None:
    utterance = mean_vector(bert, "how was it ?", layer or -1)
    expected = [cosine(utterance, mean_vector(bert, reply, layer or -1)) for reply in REPLIES]
    found = scores(DeepAm(str(bert), layer), chat())
    assert found == pytest.approx(expected, abs=1e-5)
    assert found[5] == pytest.approx(1, abs=1e-6), "the utterance itself"
    assert len({round(score, 6) for score in found}) == len(found)


def test_adequacy_with_references_is_the_best_cosine(bert: Path) -> None:
    found = scores(DeepAm(str(bert), mode="referenced"), chat(()))
    for sample, score in zip(chat(()), found, strict=True):
        own = mean_vector(bert, sample.response, -1)
        assert score == pytest.approx(
            max(cosine(mean_vector(bert, r.text, -1), own) for r in sample.references), abs=1e-5
        )


def test_adequacy_of_odd_replies(bert: Path) -> None:
    free, referenced = DeepAm(str(bert)), DeepAm(str(bert), mode="referenced")
    samples = [
        Sample("alone", (), "it was"),
        Sample("blank", ["hi", "  "], "it was"),
        Sample("empty", ["hi"], "", ["it was"]),
        Sample("nothing", ["hi"], " ", [""]),
    ]
    result = evaluate(free, samples)
    assert by_id(result.reasons) == {"alone": "no context", "blank": "no context"}
    assert [by_id(result.by_sample)[id] for id in ("empty", "nothing")] == [0, 0]
    result = evaluate(referenced, samples)
    assert by_id(result.reasons) == {"alone": "no references", "blank": "no references"}
    assert [by_id(result.by_sample)[id] for id in ("empty", "nothing")] == [0, 0]
    assert math.isnan(evaluate(free, []).value)


def test_the_signature_names_model_layer_and_mode(bert: Path) -> None:
    signatures = [
        evaluate(metric, chat()).signature
        for metric in (DeepAm(str(bert)), DeepAm(str(bert), 1), DeepAm(str(bert), mode="referenced"))
    ]
    assert len(set(signatures)) == 3
    assert all(signature.parts["built-with"].startswith("bert-") for signature in signatures)
    with pytest.raises(InputError, match="the model has layers 0 to 2, not 3"):
        evaluate(DeepAm(str(bert), 3), chat())
    with pytest.raises(SpecError, match="mode must be one of 'reference_free', 'referenced'"):
        create("deep_am(model='x',mode='free')")
