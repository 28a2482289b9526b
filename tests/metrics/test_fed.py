"""FED, FULL and perplexity: exact numbers with doubles, and the literal procedure with small random models."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from interloq import Sample, create, evaluate, spec
from interloq.data.follow_ups import read_follow_ups
from interloq.errors import InputError, SpecError
from interloq.metrics import fed, full, perplexity
from interloq.metrics.fed import Fed
from interloq.metrics.full import Full
from interloq.metrics.perplexity import Perplexity
from interloq.models.lm.causal import FollowUpScores
from tests.conftest import by_id
from tests.made_lm import tiny_lm
from tests.made_seq2seq import tiny_seq2seq

MODES = ["conditional", "whole"]


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp("lm"), positions=256)


def chat() -> list[Sample]:
    before = ["hi .", "how was it ?", " "]
    replies = ["it was a very good day .", "no idea , sorry .", "日本語", "it"]
    return [Sample(f"{i}", before[: i % 4], reply) for i, reply in enumerate(replies)]


def scores(metric: Any, samples: Sequence[Sample]) -> list[float]:
    return list(evaluate(metric, samples).by_sample.values())


# ---- exact numbers ---------------------------------------------------------------------------------------------------


class Words:
    """Each word of a follow-up has the log-likelihood −(letters of the word) − (turns), of a dialogue −1 a word."""

    def follow_up_scores(
        self, dialogues: Any, follow_ups: Sequence[str], *, whole: bool = False, **_: Any
    ) -> FollowUpScores:
        words = [text.split() for text in follow_ups]
        sums = [[-sum(len(word) + len(turns) for word in own) for own in words] for turns in dialogues]
        lengths = np.array([len(" ".join(turns).split()) for turns in dialogues])
        return FollowUpScores(
            np.array(sums, dtype=float), np.array([len(own) for own in words]), -1.0 * lengths * whole, lengths
        )

    def reply_scores(self, dialogues: Any, replies: Sequence[str], **_: Any) -> Any:
        counts = np.array([len(text.split()) for text in replies])
        return -counts * np.array([len(turns) + 1.0 for turns in dialogues]), counts

    def signature(self) -> str:
        return "words"


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    for module in (fed, full, perplexity):
        monkeypatch.setattr(module, "loaded", lambda *_, **__: Words())
    file = tmp_path / "mine.json"
    dimensions = {"kind": {"positive": ["aa", "aaaa a"], "negative": ["bbb"]}, "rude": {"negative": ["b bb", "bbb"]}}
    file.write_text(json.dumps({"turn": dimensions, "full": ["aa", "b bbb"]}))
    return str(file)


TWO = Sample("two", ["x y"], "z")  # two turns, three words


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


def test_full_by_hand(words: str) -> None:
    # aa: −4 of one word; b bbb: −(1 + 2) − (3 + 2) of two
    assert scores(Full("x", follow_ups=words), [TWO]) == [4 + 8]
    found = scores(Full("x", "perplexity", words), [TWO])
    assert found == pytest.approx([(math.exp(4) + math.exp(8 / 2)) / 2])


def test_perplexity_by_hand(words: str) -> None:
    samples = [Sample("a", ["hi", "you"], "one two"), Sample("b", [], "one")]
    result = evaluate(Perplexity("x"), samples)
    assert dict(result.by_sample) == pytest.approx({("a", ""): math.exp(3), ("b", ""): math.exp(1)})
    assert result.value == pytest.approx(math.exp((2 * 3 + 1) / 3)), "over tokens, not over replies"
    assert scores(Perplexity("x", context=False), samples) == pytest.approx([math.e, math.e])
    in_nats = evaluate(Perplexity("x", log=True), samples)
    assert by_id(in_nats.by_sample) == {"a": 3, "b": 1}
    assert in_nats.value == pytest.approx(7 / 3)


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


# ---- the literal procedure -------------------------------------------------------------------------------------------


class OneByOne:
    """The authors' way: one pass for each text."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def whole(self, turns: Sequence[str], follow_up: str) -> float:
        """The loss that transformers gives for the text: the mean over all tokens but the first."""
        texts = [*turns, follow_up]
        ids = [i for text in texts for i in (0, *self.tokenizer(text)["input_ids"])]  # 0 is <eos>
        with torch.inference_mode():
            return float(self.model(torch.tensor([ids]), labels=torch.tensor([ids])).loss)

    def conditional(self, turns: Sequence[str], follow_up: str) -> float:
        before = [i for turn in turns for i in (0, *self.tokenizer(turn)["input_ids"])] + [0]
        own = self.tokenizer(follow_up)["input_ids"]
        ids = torch.tensor([before + own])
        labels = ids.clone()
        labels[0, : len(before)] = -100
        with torch.inference_mode():
            return float(self.model(ids, labels=labels).loss)

    def score(self, mode: str, turns: Sequence[str], positive: Sequence[str], negative: Sequence[str]) -> float:
        low, high = (
            sum(getattr(self, mode)(turns, text) for text in texts) / max(len(texts), 1)
            for texts in (negative, positive)
        )
        return float(low - high)


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


def test_perplexity_is_that_of_transformers(lm: Path) -> None:
    literal = OneByOne(lm)
    turns = [[turn.text for turn in s.context if turn.text.strip()] for s in chat()]
    expected = [math.exp(literal.conditional(t, s.response)) for t, s in zip(turns, chat(), strict=True)]
    assert scores(Perplexity(str(lm)), chat()) == pytest.approx(expected, rel=1e-5)
    alone = [math.exp(literal.conditional([], s.response)) for s in chat()]
    assert scores(Perplexity(str(lm), context=False), chat()) == pytest.approx(alone, rel=1e-5)


def test_full_sums_over_five_complaints(lm: Path) -> None:
    literal, five = OneByOne(lm), read_follow_ups("en").full
    counts = [len(literal.tokenizer(text)["input_ids"]) for text in five]
    sample = chat()[0]
    losses = [literal.conditional([sample.response], text) for text in five]
    expected = sum(loss * count for loss, count in zip(losses, counts, strict=True))
    assert scores(Full(str(lm)), [sample]) == pytest.approx([expected], rel=1e-5)
    assert scores(Full(str(lm), "perplexity"), [sample]) == pytest.approx([np.mean(np.exp(losses))], rel=1e-5)


@pytest.mark.parametrize("kind", ["t5", "blenderbot"])
def test_models_with_an_encoder(tmp_path: Path, kind: str) -> None:
    folder = str(tiny_seq2seq(tmp_path, kind))
    for metric in (Fed(folder), Full(folder), Perplexity(folder)):
        found = scores(metric, chat())
        assert np.isfinite(found).all()
        assert len(set(found)) == 4
    with pytest.raises(InputError, match="use mode='conditional'"):
        evaluate(Fed(folder, mode="whole"), chat())


# ---- odd input -------------------------------------------------------------------------------------------------------


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
    with pytest.raises(InputError, match="en: no dimension 'intresting'; did you mean 'interesting'"):
        evaluate(Fed(model, "intresting"), chat())
    with pytest.raises(InputError, match="en: 'relevant' has no positive follow-ups; use sets='both'"):
        evaluate(Fed(model, "relevant", sets="positive_only"), chat())
    with pytest.raises(InputError, match="no follow-ups 'de'"):
        evaluate(Fed(model, follow_ups="de"), chat())
    with pytest.raises(InputError, match="no chat template"):
        evaluate(Fed(model, layout="chat"), chat())
    with pytest.raises(SpecError, match="mode must be one of 'conditional', 'whole'"):
        create(f"fed(model={model!r},mode='half')")
    mine = tmp_path / "mine.json"
    mine.write_text('{"turn": {"kind": {"positive": ["So kind !"]}}}')
    with pytest.raises(InputError, match="has no part 'full'"):
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
