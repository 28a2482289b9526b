"""FED, FULL and perplexity: exact numbers with doubles, and the literal procedure with small random models."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interloq import Sample, create, evaluate, spec
from interloq.data.follow_ups import read_follow_ups
from interloq.errors import InputError, SpecError
from interloq.metrics.likelihood.fed import Fed, Full
from interloq.metrics.likelihood.perplexity import Perplexity
from tests.conftest import by_id
from tests.made_lm import tiny_lm, tiny_seq2seq
from tests.metrics.made_contracts import POSITIVE, REAL, Contract
from tests.metrics.made_fed import TWO, OneByOne, chat
from tests.metrics.made_given import scores

CONTRACTS = {
    "fed": Contract(
        REAL,
        variants=[
            "fed(model='lm',dimension='relevant',mode='whole')",
            "fed(model='lm',dimension='fluent',sets='negative_only',over='sum',prior='context',layout='lines')",
        ],
        required="model='lm'",
    ),
    "full": Contract(POSITIVE, variants=["full(model='lm',mode='perplexity',follow_ups='ja')"], required="model='lm'"),
}


MODES = ["conditional", "whole"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # s(aa) = −2 − 2, s(aaaa a) = −2.5 − 2, s(bbb) = −3 − 2
        ({}, (-4 - 4.5) / 2 + 5),
        ({"over": "sum"}, -4 - 4.5 + 5),
        ({"sets": "negative_only"}, 5),
        ({"sets": "positive_only"}, (-4 - 4.5) / 2),
        ({"prior": "empty"}, (-2 - 2) / 2 + 2),
        ({"prior": "context", "over": "sum"}, -1 - 1 + 1),  # each is one turn further from its prior
        # three words of −1 before, over three words and those of the follow-up
        ({"mode": "whole"}, ((-3 - 4) / 4 + (-3 - 9) / 5) / 2 + (3 + 5) / 4),
        ({"mode": "whole", "sets": "negative_only"}, (3 + 5) / 4),
        ({"mode": "whole", "prior": "empty"}, ((-7 / 4 + 2) + (-12 / 5 + 2.5)) / 2 - (-8 / 4 + 3)),
        ({"dimension": "rude"}, ((3 + 4) / 2 + 5) / 2),
        ({"dimension": "rude", "over": "sum"}, (3 + 4) / 2 + 5),
        ({"dimension": "rude", "mode": "whole"}, ((3 + 7) / 5 + (3 + 5) / 4) / 2),
    ],
)
def test_fed_by_hand(words: str, options: dict[str, Any], expected: float) -> None:
    metric = Fed(**{"model": "x", "dimension": "kind", "follow_ups": words} | options)
    assert scores(metric, [TWO]) == pytest.approx([expected], abs=1e-12)


def test_the_empty_prior_changes_no_order(lm: Path) -> None:
    with_it, without = (scores(Fed(str(lm), prior=prior), chat()) for prior in ("empty", "none"))
    difference = np.array(with_it) - np.array(without)
    assert difference == pytest.approx(difference[0], abs=1e-5)
    assert abs(difference[0]) > 1e-3


def test_the_prior_of_a_context_is_the_score_without_the_reply(lm: Path) -> None:
    samples = [sample for sample in chat() if sample.context and sample.context[-1].text.strip()]
    before = [replace(sample, context=sample.context[:-1], response=sample.context[-1].text) for sample in samples]
    found = np.array(scores(Fed(str(lm), prior="context"), samples))
    whole, without = (np.array(scores(Fed(str(lm)), asked)) for asked in (samples, before))
    assert found == pytest.approx(whole - without, abs=1e-5)
    assert np.ptp(whole - found) > 1e-3, "it is not the same for every reply"


@pytest.mark.parametrize("dimension", ["interesting", "relevant", "likeable", "overall"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_fed_is_the_literal_procedure(tmp_path: Path, kind: str, mode: Any, dimension: str) -> None:
    folder = tiny_lm(tmp_path, kind, positions=256)
    literal, wanted = OneByOne(folder), read_follow_ups("en").dimension(dimension)
    expected = [
        literal.score(
            mode, [t.text for t in s.context if t.text.strip()] + [s.response], wanted.positive, wanted.negative
        )
        for s in chat()
    ]
    found = scores(Fed(str(folder), dimension, mode), chat())
    assert found == pytest.approx(expected, abs=1e-4)
    assert len({round(value, 5) for value in found}) == len(found)


@pytest.mark.parametrize("kind", ["t5", "blenderbot"])
def test_models_with_an_encoder(tmp_path: Path, kind: str) -> None:
    folder = str(tiny_seq2seq(tmp_path, kind))
    for metric in (Fed(folder), Full(folder), Perplexity(folder)):
        found = scores(metric, chat())
        assert np.isfinite(found).all()
        assert len(set(found)) == 4
    with pytest.raises(InputError, match="use mode='conditional'"):
        evaluate(Fed(folder, mode="whole"), chat())


@pytest.mark.parametrize("name", ["fed", "full", "perplexity"])
def test_odd_samples(lm: Path, name: str) -> None:
    metric = create(f"{name}(model={str(lm)!r})")
    samples = [
        Sample("empty", ["hi"], ""),
        Sample("blank", ["hi"], " \n\u3000"),
        Sample("alone", [], "it was good"),
        Sample("blank context", [" ", ""], "it was good"),
        Sample("long", ["x y z " * 300], "no " * 300),
        Sample("many turns", ["no idea"] * 400, "sorry ."),
    ]
    result = evaluate(metric, samples)
    assert by_id(result.reasons) == {"blank": "empty reply", "empty": "empty reply"}
    assert by_id(result.by_sample)["alone"] == pytest.approx(by_id(result.by_sample)["blank context"], abs=1e-5)
    assert all(math.isfinite(by_id(result.by_sample)[id]) for id in ("alone", "long", "many turns"))
    assert math.isnan(evaluate(metric, []).value)


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_every_shipped_dimension_scores(lm: Path, language: str) -> None:
    for name in read_follow_ups(language).dimensions:
        assert np.isfinite(scores(Fed(str(lm), name, follow_ups=language), chat())).all()
    assert np.isfinite(scores(Full(str(lm), follow_ups=language), chat())).all()


def test_what_cannot_be_asked_is_said(lm: Path, tmp_path: Path) -> None:
    model = str(lm)
    with pytest.raises(InputError, match="en: 'relevant' has no positive follow-ups; use sets='both'"):
        evaluate(Fed(model, "relevant", sets="positive_only"), chat())
    with pytest.raises(InputError, match="no chat template"):
        evaluate(Fed(model, layout="chat"), chat())
    with pytest.raises(SpecError, match="mode must be one of 'conditional', 'whole'"):
        create(f"fed(model={model!r},mode='half')")
    mine = tmp_path / "mine.json"
    mine.write_text('{"turn": {"kind": {"positive": ["So kind !"]}}}')
    with pytest.raises(InputError, match="has no 'full'"):
        evaluate(Full(model, follow_ups=str(mine)), chat())


def test_the_signature_names_weights_and_follow_ups(lm: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    signatures = []
    for text in ("So kind !", "Very kind !"):
        mine.write_text(json.dumps({"turn": {"kind": {"positive": [text]}}}))
        signatures.append(evaluate(Fed(str(lm), "kind", follow_ups=str(mine)), chat()).signature)
    assert signatures[0] != signatures[1]
    built = [signature.parts["built-with"] for signature in signatures]
    assert all(each.startswith("gpt2-") and "follow-ups-" in each for each in built)
    fields = {"sets": "negative_only", "over": "sum", "prior": "context", "layout": "lines", "longest": 64}
    metric = Fed(str(lm), "fluent", "whole", **fields)  # type: ignore[arg-type]
    assert create(spec(metric)) == metric


def test_full_by_hand(words: str) -> None:
    # aa: −4 of one word; b bbb: −(1 + 2) − (3 + 2) of two
    assert scores(Full("x", follow_ups=words), [TWO]) == [4 + 8]
    found = scores(Full("x", "perplexity", words), [TWO])
    assert found == pytest.approx([(math.exp(4) + math.exp(8 / 2)) / 2])


def test_full_sums_over_five_complaints(lm: Path) -> None:
    literal, five = OneByOne(lm), read_follow_ups("en").full
    counts = [len(literal.tokenizer(text)["input_ids"]) for text in five]
    sample = chat()[0]
    losses = [literal.conditional([sample.response], text) for text in five]
    expected = sum(loss * count for loss, count in zip(losses, counts, strict=True))
    assert scores(Full(str(lm)), [sample]) == pytest.approx([expected], rel=1e-5)
    assert scores(Full(str(lm), "perplexity"), [sample]) == pytest.approx([np.mean(np.exp(losses))], rel=1e-5)
