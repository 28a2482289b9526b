"""Deep AM, Deep FM and their blend against literal calculations with transformers, on small models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from interloq import Reference, Sample, create, evaluate, spec
from interloq.errors import InputError, SpecError
from interloq.metrics.am_fm import AmFm
from interloq.metrics.deep_am import DeepAm
from interloq.metrics.deep_fm import DeepFm
from interloq.metrics.metric import Array, mean_value, score_rows
from interloq.registry import Component
from tests.conftest import by_id
from tests.made_lm import tiny_bert, tiny_lm

REPLIES = [
    "it was a very good day .",
    "no idea , sorry .",
    "we saw the film there again .",
    "日本語",
    "it",
    "how was it ?",
    "x" * 300,
]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"), head="")


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp("lm"), positions=512)


def chat(context: Sequence[str] = ("hi .", "how was it ?")) -> list[Sample]:
    references = [Reference("it was good ."), Reference("no , sorry .", 0.3), Reference("we saw the film .")]
    return [Sample(f"{i:02}", context, reply, references[: 1 + i % 3]) for i, reply in enumerate(REPLIES)]


def scores(metric: Any, samples: list[Sample]) -> list[float]:
    return list(evaluate(metric, samples).by_sample.values())


# ---- Deep AM ---------------------------------------------------------------------------------------------------------


def mean_vector(folder: Path, text: str, layer: int) -> np.ndarray[Any, Any]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
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


# ---- Deep FM ---------------------------------------------------------------------------------------------------------


def log_likelihood(folder: Path, tokens: list[int]) -> float:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    row = torch.tensor([[0, *tokens]])
    with torch.inference_mode():
        said = torch.log_softmax(model(row).logits[0].double(), dim=1)
    return float(sum(said[i, token] for i, token in enumerate(tokens)))


def numbers(folder: Path, text: str) -> list[int]:
    found: list[int] = transformers.AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
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


def test_an_encoder_is_no_language_model(bert: Path) -> None:
    with pytest.raises(InputError, match="use a causal language model"):
        evaluate(DeepFm(str(bert)), chat())


def test_a_model_written_again_is_loaded_again(tmp_path: Path) -> None:
    metric = DeepFm(str(tiny_lm(tmp_path)))
    first = evaluate(metric, chat()[:3])
    tiny_lm(tmp_path, seed=1)
    second = evaluate(metric, chat()[:3])
    assert first.value != second.value
    assert first.signature != second.signature


# ---- AM-FM -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said(Component):
    """A metric whose scores stand in the reply: "0.5 -2"; `n/a` is unscored."""

    place: int

    def unscorable(self, sample: Sample) -> str | None:
        return f"no score {self.place}" if sample.response.split()[self.place] == "n/a" else None

    def stats(self, samples: Sequence[Sample]) -> Array:
        return score_rows(np.array([float(sample.response.split()[self.place]) for sample in samples], dtype=float))

    def value(self, total: Array) -> Array:
        return mean_value(total)


def said(*pairs: tuple[Any, Any]) -> list[Sample]:
    return [Sample(f"{i:03}", ["how ?"], f"{first} {second}") for i, (first, second) in enumerate(pairs)]


def quantile(values: Sequence[float], share: float) -> float:
    """Between the two scores around place share · (n − 1), in proportion."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def literal(pairs: Sequence[tuple[float, float]]) -> list[float]:
    columns = []
    for side in zip(*pairs, strict=True):
        c = quantile(side, 0.05)
        columns.append([(max(x, c) - c) / (abs(c) if c else 1) for x in side])
    return [(a + b) / 2 for a, b in zip(*columns, strict=True)]


NUMBERS = st.integers(-800, 800).map(lambda i: i / 8)


@given(pairs=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=45))
def test_the_blend_is_the_formula(pairs: list[tuple[float, float]]) -> None:
    found = scores(AmFm(Said(0), Said(1)), said(*pairs))
    assert found == pytest.approx(literal(pairs), rel=1e-6, abs=1e-9)
    assert min(found) >= 0


def test_a_worked_example() -> None:
    """Of 21 scores the 5 % quantile is the second one, exactly: 2 of 1…21, and −20 of −21…−1."""
    pairs = [(i + 1, i - 21) for i in range(21)]
    found = scores(AmFm(Said(0), Said(1)), said(*pairs))
    assert found[:2] == [0, 0], "the lowest score is lifted to the quantile"
    assert found[2] == pytest.approx((1 / 2 + 1 / 20) / 2)
    assert found[20] == pytest.approx((19 / 2 + 19 / 20) / 2)


def test_equal_scores_and_a_quantile_of_zero_are_defined() -> None:
    assert scores(AmFm(Said(0), Said(1)), said((3, -2), (3, -2))) == [0, 0]
    assert scores(AmFm(Said(0), Said(1)), said((0, 0))) == [0]
    mixed = said(*[(0, -2)] * 10, (0.5, -2))
    assert scores(AmFm(Said(0), Said(1)), mixed) == pytest.approx([0.0] * 10 + [0.25]), "the score itself"


def test_what_one_part_cannot_score_is_left_out_of_the_quantiles() -> None:
    pairs: list[tuple[Any, Any]] = [(1, 5), (2, 6), (3, 7)]
    plain = evaluate(AmFm(Said(0), Said(1)), said(*pairs))
    result = evaluate(AmFm(Said(0), Said(1)), said(*pairs, ("n/a", -99), (-99, "n/a")))
    assert by_id(result.reasons) == {"003": "no score 0", "004": "no score 1"}
    assert result.value == plain.value
    assert result.signature.parts["fitted"] == plain.signature.parts["fitted"]


def test_new_samples_meet_the_old_quantiles() -> None:
    fitted = AmFm(Said(0), Said(1)).fit(said((2, 4), (2, 4)))
    assert fitted.value(fitted.stats(said((1, 8), (6, 0)))).tolist() == [(0 + 1) / 2, (2 + 0) / 2]
    assert fitted.fitted() == "am[2],fm[4]"
    with pytest.raises(InputError, match=r"call fit\(samples\), or use evaluate"):
        AmFm(Said(0), Said(1)).stats(said((1, 2)))
    with pytest.raises(InputError, match="no sample that both of its parts can score"):
        AmFm(Said(0), Said(1)).fit(said(("n/a", 1))).stats(said((1, 2)))


def test_the_whole_of_am_fm(bert: Path, lm: Path) -> None:
    am, fm = DeepAm(str(bert)), DeepFm(str(lm))
    metric = AmFm(am, fm)
    assert create(spec(metric)) == metric
    result = evaluate(spec(metric), chat(), n_bootstrap=20)
    pairs = list(zip(scores(am, chat()), scores(fm, chat()), strict=True))
    assert list(result.by_sample.values()) == pytest.approx(literal(pairs), rel=1e-4, abs=1e-4)
    assert result.signature.parts["built-with"].startswith("am[bert-")
    assert ",fm[gpt2-" in result.signature.parts["built-with"]


def test_parts_with_constants_of_their_own_are_fitted(bert: Path) -> None:
    result = evaluate(AmFm(DeepAm(str(bert), mode="referenced"), create("nist")), chat())
    alone = evaluate("nist", chat())
    assert alone.signature.parts["fitted"] in result.signature.parts["fitted"]
